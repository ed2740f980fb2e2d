// A job that all ranks leave in good order, after which rank 0 ends without its exit handlers.

#include <unistd.h>

#include <cstdio>

#include "weir/engine.h"

int main() {
  const int rank = weir::Engine::Create()->rank();
  if (rank == 0) _exit(0);
  std::printf("rank %d has ended\n", rank);  // Kept in a buffer until the process exits.
}
