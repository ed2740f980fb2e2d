#include "metrics/files/output_file.h"

#include <fcntl.h>

#include <cerrno>
#include <cstring>

#include "common/write_all.h"
#include "weir/error.h"

namespace weir {

OutputFile::OutputFile(const std::string& path, int flags)
    : path_(path), fd_(open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0666)) {
  if (fd_.get() < 0) Fail(path_, errno);
}

void OutputFile::Write(std::string_view text) const {
  if (const int error = WriteAll(fd_.get(), text)) Fail(path_, error);
}

void OutputFile::Fail(const std::string& path, int error) {
  throw InvalidArgument("cannot write " + path + ": " + std::strerror(error));
}

}  // namespace weir
