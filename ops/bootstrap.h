#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "ops/hub/launch.h"
#include "ops/rendezvous/rendezvous.h"
#include "ops/transport/transport.h"
#include "weir/settings.h"

namespace weir {

namespace mpi {
class Session;
}
namespace ucx {
class Context;
}

/// True if a launcher of MPI's (mpiexec, weirrun, srun --mpi=pmi2) has started this process, with
/// others or alone.
bool StartedByMpi();

/// Joins this process to its job: to MPI or UCX where the job has several ranks. Otherwise neither
/// is initialised.
///
/// Not thread-safe. One thread makes, uses and destroys it; MPI calls that its main thread.
class Bootstrap {
 public:
  /// Initialises MPI or UCX where the job needs it. `launch` is what a launcher that is not MPI's
  /// has told, if one has started this process. Only UCX needs the rendezvous, which may be null
  /// and outlives this. Throws InvalidArgument when the program has initialised MPI with less than
  /// MPI_THREAD_MULTIPLE, and when there is no usable UCX or no rendezvous for it.
  Bootstrap(const Settings& settings, std::optional<Launch> launch, Rendezvous* rendezvous);
  /// Leaves MPI itself until the process exits. It is finalised then unless something failed.
  ~Bootstrap();

  /// Makes the network between all ranks of the job. Waits for all of them to call it; throws
  /// TimedOut after `timeout`, InvalidArgument when MPI finds fewer ranks than the launcher has
  /// started, or the ranks have different versions of UCX, and what Rendezvous::Meet throws. May be
  /// called again once the previous transport is destroyed, so that a process can shut an engine
  /// down and make another.
  std::unique_ptr<Transport> Connect(std::chrono::milliseconds timeout);

  /// Reports that an operation failed: other ranks may be dead, so MPI is not called again.
  void Abandon();

 private:
  [[noreturn]] void ThrowAlone(int ranks) const;

  const std::optional<Launch> launch_;
  Rendezvous* const rendezvous_;
  std::shared_ptr<mpi::Session> session_;
  std::shared_ptr<ucx::Context> context_;
  bool on_one_host_ = false;
  std::string ucx_version_;
  std::string ucx_name_;
};

}  // namespace weir
