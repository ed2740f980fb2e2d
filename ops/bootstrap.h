#pragma once

#include <chrono>
#include <memory>

#include "ops/transport/transport.h"

namespace weir {

namespace mpi {
class Session;
}

/// Joins this process to its job. Started under an MPI launcher (which sets PMI_* or similar
/// variables) with more than one rank, the job's network is MPI. Otherwise the process is a job of
/// one rank and MPI is never initialised.
///
/// Not thread-safe. One thread makes, uses and destroys it; MPI calls that its main thread.
class Bootstrap {
 public:
  /// Initialises MPI where the job needs it. Throws InvalidArgument when the program has
  /// initialised it with less than MPI_THREAD_MULTIPLE.
  Bootstrap();
  /// Leaves MPI itself until the process exits. It is finalised then unless something failed.
  ~Bootstrap();

  /// Makes the network between all ranks of the job. Waits for all of them to call it; throws
  /// TimedOut after `timeout`. May be called again once the previous transport is destroyed, so
  /// that a process can shut an engine down and make another.
  std::unique_ptr<Transport> Connect(std::chrono::milliseconds timeout);

  /// Reports that an operation failed: other ranks may be dead, so MPI is not called again.
  void Abandon();

 private:
  std::shared_ptr<mpi::Session> session_;
};

}  // namespace weir
