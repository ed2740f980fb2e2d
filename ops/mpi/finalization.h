#pragma once

#include "common/supervision.h"
#include "common/unique_fd.h"

namespace weir::mpi {

/// Whether this process may finalise MPI. MPI_Finalize returns when all ranks are in it and has no
/// deadline; under weirrun, which knows who has ended, this asks weirrun first. Not thread-safe.
class Finalization {
 public:
  /// Over the socket in WEIR_SUPERVISOR_FD; without one, MPI may be finalised at any time.
  static Finalization FromEnvironment();

  /// Over `socket`, a connected Unix packet socket, or none.
  explicit Finalization(UniqueFd socket) : socket_(std::move(socket)) {}

  /// Says that this process initialises MPI and the others' finalisation takes its own.
  void Announce() { Send(supervision::MessageType::kInitializing); }
  /// Waits until all ranks would finalise MPI. False when that will not come: a rank or weirrun has
  /// ended, or the job is being ended.
  bool AllHaveCome();

 private:
  void Send(supervision::MessageType type);

  UniqueFd socket_;
};

}  // namespace weir::mpi
