#include "launcher/summary_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <utility>

#include "weir/error.h"

namespace weir::launcher {

SummaryFile::SummaryFile(std::string path)
    : path_(std::move(path)),
      fd_(open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)) {
  if (fd_) return;
  throw InvalidArgument("--summary-filename: cannot write '" + path_ + "': " +
                        std::strerror(errno) + "; give a file in a folder that can be written");
}

bool SummaryFile::Write(const std::string& text) const {
  for (std::string_view rest = text; !rest.empty();) {
    const ssize_t n = write(fd_.get(), rest.data(), rest.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    rest.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

void SummaryFile::Remove() const { unlink(path_.c_str()); }

}  // namespace weir::launcher
