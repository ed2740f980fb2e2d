#include "ops/mpi/session.h"

#include <mpi.h>

#include <atomic>
#include <cstdlib>
#include <optional>
#include <string>

#include "common/fork_generation.h"
#include "ops/mpi/finalization.h"
#include "weir/error.h"

namespace weir::mpi {

namespace {

/// Sessions that are open or were abandoned.
std::atomic<int> unfinished_sessions = 0;
/// Where MPI was initialised: a forked child must not finalise it.
std::uint64_t initialized_in_generation = 0;
std::optional<Finalization> finalization;

void FinalizeAtExit() {
  if (unfinished_sessions != 0 || ForkGeneration() != initialized_in_generation) return;
  int finalized = 0;
  MPI_Finalized(&finalized);
  if (finalized == 0 && finalization->AllHaveCome()) MPI_Finalize();
}

const char* LevelName(int level) {
  switch (level) {
    case MPI_THREAD_SINGLE:
      return "MPI_THREAD_SINGLE";
    case MPI_THREAD_FUNNELED:
      return "MPI_THREAD_FUNNELED";
    case MPI_THREAD_SERIALIZED:
      return "MPI_THREAD_SERIALIZED";
    default:
      return "MPI_THREAD_MULTIPLE";
  }
}

}  // namespace

Session::Session() {
  if (unfinished_sessions != 0) {
    throw InvalidArgument(
        "an earlier engine of this process failed, perhaps with messages under way, and MPI "
        "cannot take those back: start the program again");
  }
  int finalized = 0;
  MPI_Finalized(&finalized);
  if (finalized != 0) {
    throw InvalidArgument(
        "the program has already finalised MPI, which cannot be initialised twice "
        "in one process; initialise Weir before MPI_Finalize");
  }
  int initialized = 0;
  MPI_Initialized(&initialized);
  int level = MPI_THREAD_SINGLE;
  if (initialized != 0) {
    MPI_Query_thread(&level);
    if (level < MPI_THREAD_MULTIPLE) {
      throw InvalidArgument(
          std::string("the program has initialised MPI with ") + LevelName(level) +
          ", but Weir uses it from a thread of its own: initialise Weir first, or "
          "MPI with MPI_THREAD_MULTIPLE (mpi4py: mpi4py.rc.thread_level = "
          "'multiple' before importing mpi4py.MPI)");
    }
    ++unfinished_sessions;
    return;
  }
  finalization = Finalization::FromEnvironment();
  finalization->Announce();
  if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &level) != MPI_SUCCESS) {
    throw Error("MPI_Init_thread failed");
  }
  if (level < MPI_THREAD_MULTIPLE) {
    MPI_Finalize();
    throw InvalidArgument(std::string("this MPI library gives no more than ") + LevelName(level) +
                          "; Weir needs one built with MPI_THREAD_MULTIPLE");
  }
  initialized_in_generation = ForkGeneration();
  ++unfinished_sessions;
  std::atexit(FinalizeAtExit);
}

Session::~Session() {
  if (!abandoned_) --unfinished_sessions;
}

}  // namespace weir::mpi
