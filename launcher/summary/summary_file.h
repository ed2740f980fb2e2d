#pragma once

#include <string>

#include "common/unique_fd.h"

namespace weir::launcher {

/// The file of --summary-filename. Opened and emptied before the job starts, so that nobody takes
/// an earlier job's summary for this one's.
class SummaryFile {
 public:
  /// Throws InvalidArgument that names the file and the reason when it cannot be written.
  explicit SummaryFile(std::string path);

  /// Writes all of the text. Returns errno when the disk refuses, else 0.
  int Write(const std::string& text) const;
  /// Removes the file: there is nothing to write.
  void Remove() const;
  const std::string& path() const { return path_; }

 private:
  const std::string path_;
  const UniqueFd fd_;
};

}  // namespace weir::launcher
