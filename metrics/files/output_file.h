#pragma once

#include <string>
#include <string_view>

#include "common/unique_fd.h"

namespace weir {

/// A file for writing. Not a std::FILE, because a forked child that
/// exits would write its buffer again.
class OutputFile {
 public:
  /// Opens the file, and creates it where there is none. `flags`: O_TRUNC or O_APPEND. Throws
  /// InvalidArgument that names the file and the reason.
  OutputFile(const std::string& path, int flags);

  /// Writes all of it. Throws InvalidArgument when the disk refuses; a part may be written then.
  void Write(std::string_view text) const;

  /// Throws InvalidArgument: "cannot write PATH: ...".
  [[noreturn]] static void Fail(const std::string& path, int error);

 private:
  const std::string path_;
  const UniqueFd fd_;
};

}  // namespace weir
