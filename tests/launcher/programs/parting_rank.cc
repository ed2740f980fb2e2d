// A job that all ranks leave in good order, after which they part from MPI in various ways:
//   exit                rank 0 ends without its exit handlers
//   finalize            rank 0 calls MPI_Finalize itself
//   own                 so it does with an MPI that it has initialised itself
//   exit-and-finalize   rank 0 ends without its exit handlers, the others call MPI_Finalize

#include <mpi.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "weir/engine.h"

int main(int argc, char** argv) {
  const std::string_view way = argc > 1 ? argv[1] : "";
  if (way == "own" && std::string_view(std::getenv("PMI_RANK")) == "0") {
    int level = MPI_THREAD_SINGLE;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &level);
  }
  const int rank = weir::Engine::Create()->rank();
  if (rank == 0 && way.starts_with("exit")) _exit(0);
  const bool by_itself = rank == 0 ? way != "exit" : way == "exit-and-finalize";
  if (by_itself) MPI_Finalize();
  std::printf("rank %d has ended\n", rank);  // Kept in a buffer until the process exits.
}
