#pragma once

#include <array>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/unique_fd.h"
#include "launcher/output/line_assembler.h"

namespace weir::launcher {

struct OutputOptions {
  bool prefix = true;              ///< "[3] " before every line of rank 3.
  bool timestamps = false;         ///< The time before that.
  std::filesystem::path folder{};  ///< Also write <folder>/rank.<rank>/stdout and stderr.
};

/// Writes the ranks' output to weirrun's own stdout and stderr, whole lines only. Blocks as
/// long as those do; sends this process SIGPIPE when nobody reads them any more. Lines that
/// cannot be written for another reason are lost, and reported on stderr once; the next lines
/// are tried again. Not thread-safe.
class OutputWriter {
 public:
  /// Makes the folders and files. Throws InvalidArgument when it cannot.
  OutputWriter(const OutputOptions& options, int ranks);

  /// `code` is 1 for stdout, 2 for stderr. A rank beyond those of the constructor has come later.
  void Write(int rank, int code, std::string_view bytes);
  /// Writes unfinished last lines.
  void Finish();
  /// True if something could not be written.
  bool lost() const { return lost_; }

 private:
  struct Stream {
    LineAssembler lines;
    UniqueFd file{};  // Used only with options_.folder.
    std::filesystem::path path{};
  };

  /// Makes a rank's folder and files. Throws InvalidArgument when it cannot.
  void Open(int rank);
  void MakeRoomFor(int rank);
  void Check(int error, const std::string& what);
  void Print(int rank, int code, const std::string& lines);
  std::string Prefix(int rank) const;

  OutputOptions options_;
  int ranks_;                                   // At the start.
  std::vector<std::array<Stream, 2>> streams_;  // [rank][code - 1]
  bool lost_ = false;
};

}  // namespace weir::launcher
