#pragma once

#include "common/unique_fd.h"

namespace weir::launcher {

struct Pipe {
  UniqueFd read;
  UniqueFd write;
};

/// Makes a pipe that programs do not inherit. Throws InvalidArgument when there are no descriptors.
Pipe MakePipe();

/// Makes reading and writing return at once.
void NonBlocking(const UniqueFd& fd);

}  // namespace weir::launcher
