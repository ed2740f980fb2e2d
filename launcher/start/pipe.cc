#include "launcher/start/pipe.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "weir/error.h"

namespace weir::launcher {

Pipe MakePipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    throw InvalidArgument(std::string("cannot make a pipe: ") + std::strerror(errno));
  }
  return {.read = UniqueFd(ends[0]), .write = UniqueFd(ends[1])};
}

void NonBlocking(const UniqueFd& fd) {
  fcntl(fd.get(), F_SETFL, fcntl(fd.get(), F_GETFL) | O_NONBLOCK);
}

}  // namespace weir::launcher
