#include "launcher/summary/summary_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "common/write_all.h"
#include "weir/error.h"

namespace weir::launcher {

SummaryFile::SummaryFile(std::string path)
    : path_(std::move(path)),
      fd_(open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)) {
  if (fd_) return;
  throw InvalidArgument("--summary-filename: cannot write '" + path_ + "': " +
                        std::strerror(errno) + "; give a file in a folder that can be written");
}

int SummaryFile::Write(const std::string& text) const { return WriteAll(fd_.get(), text); }

void SummaryFile::Remove() const { unlink(path_.c_str()); }

}  // namespace weir::launcher
