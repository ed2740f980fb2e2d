#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <string>
#include <utility>

#include "common/check.h"
#include "common/unique_fd.h"

namespace weir::fuzz {

/// A file in memory, for code that reads a path.
class TextFile {
 public:
  explicit TextFile(const std::string& text) : file_(memfd_create("text", MFD_CLOEXEC)) {
    WEIR_CHECK(write(file_.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()));
  }

  std::string path() const { return "/proc/self/fd/" + std::to_string(file_.get()); }

 private:
  UniqueFd file_;
};

}  // namespace weir::fuzz
