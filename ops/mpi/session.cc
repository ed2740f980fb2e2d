#include "ops/mpi/session.h"

#include <mpi.h>

#include <atomic>
#include <cstdlib>
#include <optional>
#include <string>

#include "common/threads/fork_generation.h"
#include "ops/mpi/finalize_permission.h"
#include "ops/mpi/shared_memory.h"
#include "weir/error.h"

namespace weir::mpi {

namespace {

/// Number of sessions that are open or were abandoned.
std::atomic<int> unfinished_sessions = 0;
/// The process of the first session: a forked child has no part in MPI.
std::uint64_t first_generation = 0;
std::optional<FinalizePermission> permission;

bool MayAsk() { return unfinished_sessions == 0 && ForkGeneration() == first_generation; }

void FinalizeAtExit() {
  int finalized = 0;
  MPI_Finalized(&finalized);
  if (finalized == 0 && MayAsk() && permission->Ask().all_would) MPI_Finalize();
}

/// Called at the start of MPI_Finalize, also when the program calls that.
int OnFinalize(MPI_Comm, int, void*, void*) {
  if (!MayAsk() || permission->asked()) return MPI_SUCCESS;
  if (const auto answer = permission->Ask(); answer.never_would >= 0) {
    permission->Abort(
        "MPI_Finalize, which the program calls itself, waits for all ranks, and rank " +
        std::to_string(answer.never_would) + " has ended without it");
  }
  return MPI_SUCCESS;
}

/// Makes MPI_Finalize call OnFinalize: it deletes the attributes of MPI_COMM_SELF first.
void AskBeforeFinalize() {
  int key = MPI_KEYVAL_INVALID;
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, OnFinalize, &key, nullptr);
  MPI_Comm_set_attr(MPI_COMM_SELF, key, nullptr);
  MPI_Comm_free_keyval(&key);
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
    if (!permission) {
      permission = FinalizePermission::FromEnvironment();
      first_generation = ForkGeneration();
      AskBeforeFinalize();
    }
    ++unfinished_sessions;
    return;
  }
  CheckSharedMemory();
  permission = FinalizePermission::FromEnvironment();
  if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &level) != MPI_SUCCESS) {
    throw Error("MPI_Init_thread failed");
  }
  if (level < MPI_THREAD_MULTIPLE) {
    MPI_Finalize();
    throw InvalidArgument(std::string("this MPI library gives no more than ") + LevelName(level) +
                          "; Weir needs one built with MPI_THREAD_MULTIPLE");
  }
  first_generation = ForkGeneration();
  AskBeforeFinalize();
  ++unfinished_sessions;
  std::atexit(FinalizeAtExit);
}

Session::~Session() {
  if (!abandoned_) --unfinished_sessions;
}

}  // namespace weir::mpi
