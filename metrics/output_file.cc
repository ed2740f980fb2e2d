#include "metrics/output_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "weir/error.h"

namespace weir {

OutputFile::OutputFile(const std::string& path, int flags)
    : path_(path), fd_(open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0666)) {
  if (fd_.get() < 0) Fail(path_, errno);
}

void OutputFile::Write(std::string_view text) const {
  while (!text.empty()) {
    const ssize_t written = write(fd_.get(), text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) Fail(path_, errno);
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

void OutputFile::Fail(const std::string& path, int error) {
  throw InvalidArgument("cannot write " + path + ": " + std::strerror(error));
}

}  // namespace weir
