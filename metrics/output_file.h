#pragma once

#include <string>
#include <string_view>

#include "common/unique_fd.h"

namespace weir {

/// A file that is written to. Not a std::FILE: a forked child that exits would write its buffer
/// again.
class OutputFile {
 public:
  /// Opens it, and makes it where there is none. `flags`: O_TRUNC or O_APPEND. Throws
  /// InvalidArgument that names the file and the reason.
  OutputFile(const std::string& path, int flags);

  /// All of it. Throws InvalidArgument when the disk refuses; a part of it may be written then.
  void Write(std::string_view text) const;

  /// Throws InvalidArgument: "cannot write PATH: ...".
  [[noreturn]] static void Fail(const std::string& path, int error);

 private:
  const std::string path_;
  const UniqueFd fd_;
};

}  // namespace weir
