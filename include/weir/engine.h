#pragma once

#include <functional>
#include <memory>
#include <string>

#include "weir/error.h"
#include "weir/gradient_group.h"
#include "weir/handle.h"
#include "weir/network_totals.h"
#include "weir/settings.h"
#include "weir/tensor.h"

namespace weir {

struct AllreduceOptions {
  ReduceOp op = ReduceOp::kAverage;
  double prescale = 1.0;   ///< Every rank's values are multiplied by this first,
  double postscale = 1.0;  ///< the result by this at the end. The same on all ranks.
  int priority = 0;
  std::shared_ptr<const void> owner;  ///< Held until the operation is done.
};

/// A rank of a job: submits operations on tensors and waits for them.
///
/// Operations are matched over ranks by name, in whatever order each rank submits them. All of them
/// are asynchronous: they return a handle at once and run on the engine's own threads.
///
/// Thread-safe, but for Create, Shutdown and destruction. Errors (docs/errors.md): what this rank
/// can see is wrong throws InvalidArgument where it is submitted; everything else is thrown by
/// Wait. After Shutdown or a failure every call throws the reason. In a forked child every call
/// throws ShutDown and destruction does nothing.
class Engine {
 public:
  /// Joins the job this process was started in by weirrun (or mpiexec); without one, a job of one
  /// rank. Blocks until all ranks have come. Throws InvalidArgument for bad settings, TimedOut
  /// after settings.start_timeout_seconds (MPI's own initialisation before that has no deadline).
  /// One at a time in a process; after one was shut down in good order on all ranks and destroyed,
  /// another may be made.
  static std::unique_ptr<Engine> Create(const Settings& settings = Settings::FromEnvironment());

  virtual ~Engine() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// Rank and number of ranks on this host.
  virtual int local_rank() const = 0;
  virtual int local_size() const = 0;

  /// Combines the same-shaped tensor of every rank; `out` may be `in`'s memory. Both stay valid and
  /// `in` unchanged until the handle is fulfilled. All ranks get the same bits. Here and below an
  /// output is undefined when the operation ends with PeerLost, TimedOut or Corrupt.
  virtual Handle Allreduce(const std::string& name, ConstTensorView in, TensorView out,
                           AllreduceOptions options = {}) = 0;

  /// Concatenates every rank's tensor along the first dimension, which alone may differ. `allocate`
  /// returns the memory for the result, whose shape it is given. It is called once the ranks agree,
  /// on the engine's network thread: it must not wait for the engine. What it throws becomes the
  /// operation's error on this rank.
  using AllocateOutput = std::function<void*(const Shape& shape)>;
  virtual Handle Allgather(const std::string& name, ConstTensorView in, AllocateOutput allocate,
                           std::shared_ptr<const void> owner = nullptr) = 0;

  /// Copies the root's tensor into every other rank's.
  virtual Handle Broadcast(const std::string& name, TensorView tensor, int root,
                           std::shared_ptr<const void> owner = nullptr) = 0;

  /// Fulfilled once every rank has submitted it.
  virtual Handle Barrier(const std::string& name = "barrier") = 0;

  /// What compresses the gradients of a group that says nothing about it (Settings::compression).
  virtual const std::map<std::string, std::string>& default_compression() const = 0;

  /// Registers gradients that are exchanged together every step. Collective and blocking; the
  /// registrations of all ranks must be equal (Mismatch). The engine must outlive the group.
  virtual std::unique_ptr<GradientGroup> Register(GradientGroupSpec spec) = 0;

  /// Whether the operation has ended. Throws InvalidArgument for an unknown handle.
  virtual bool Poll(Handle handle) = 0;
  /// Waits for it, forgets the handle and throws the operation's error. A wait that passes
  /// settings.timeout_seconds ends the engine on all ranks with TimedOut.
  virtual void Wait(Handle handle) = 0;

  /// What this rank's network has carried so far. Everything that was waited for is counted.
  virtual NetworkTotals network_totals() = 0;

  /// Ends the job on all ranks: their waits throw PeerLost with this reason. Idempotent.
  virtual void Abort(const std::string& reason) = 0;
  /// Leaves in good order; what was not agreed on by then fails with ShutDown on all ranks. Waits
  /// for the other ranks to leave or fail. Called by the destructor; idempotent.
  virtual void Shutdown() = 0;
};

/// Runs `body` as `ranks` ranks of one job in as many threads of this process; returns when all
/// have returned. Rethrows the first exception that a rank ended with, after ending the others.
void RunLocal(int ranks, const std::function<void(Engine&)>& body, const Settings& settings = {});

}  // namespace weir
