#pragma once

#include <chrono>
#include <memory>

#include "ops/transport.h"

namespace weir {

namespace mpi {
class Session;
}

/// How this process joins its job. Started under an MPI launcher (it leaves PMI_* or similar
/// variables) with more than one rank, the job's network is MPI; otherwise the process is a job of
/// one rank and MPI is never initialised.
///
/// Not thread-safe. Made, used and destroyed by one thread, which MPI calls its main thread.
class Bootstrap {
 public:
  /// Initialises MPI where the job needs it. Throws InvalidArgument when the program has
  /// initialised it with less than MPI_THREAD_MULTIPLE.
  Bootstrap();
  /// MPI itself stays until the process exits, where it is finalised when nothing has failed.
  ~Bootstrap();

  /// The network between all ranks of the job. Waits for all of them to call it; throws TimedOut
  /// after `timeout`. May be called again once the previous transport is gone, so that an engine
  /// can be shut down and made again in one process.
  std::unique_ptr<Transport> Connect(std::chrono::milliseconds timeout);

  /// Says that an operation failed: other ranks may be dead, so MPI is not called again.
  void Abandon();

 private:
  std::shared_ptr<mpi::Session> session_;
};

}  // namespace weir
