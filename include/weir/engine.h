#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "weir/error.h"
#include "weir/gradient_group.h"
#include "weir/handle.h"
#include "weir/network_totals.h"
#include "weir/settings.h"
#include "weir/tensor.h"

namespace weir {

/// Options of an operation that combines values.
struct ReduceOptions {
  ReduceOp op = ReduceOp::kAverage;
  double prescale = 1.0;   ///< Factor on every rank's values, applied first.
  double postscale = 1.0;  ///< Factor on the result, applied last. The same on all ranks.
  int priority = 0;
  std::shared_ptr<const void> owner;  ///< Held until the operation is done.
  int process_set = 0;                ///< The set that takes part (Engine::AddProcessSet).
};

/// A rank of a job: submits operations on tensors and waits for them.
///
/// Operations are matched over ranks by name, in whatever order each rank submits them. All of them
/// are asynchronous: they return a handle at once and run on the engine's own threads.
///
/// Thread-safe, except Create, Shutdown and destruction. Errors (docs/errors.md): a mistake that
/// this rank can see throws InvalidArgument at submission; everything else is thrown by Wait. After
/// Shutdown or a failure every call throws the reason. In a forked child every call throws ShutDown
/// and destruction does nothing.
class Engine {
 public:
  /// Joins the job that weirrun (or mpiexec) started this process in; without one, makes a job of
  /// one rank. Blocks until all ranks have joined. Throws InvalidArgument for bad settings,
  /// TimedOut after settings.start_timeout_seconds. MPI initialises before that, without a deadline
  /// of its own: weirrun ends the whole job when a rank does not start in that time. A process has
  /// one engine at a time. It may make another once the first was shut down in good order on all
  /// ranks and destroyed.
  static std::unique_ptr<Engine> Create(const Settings& settings = Settings::FromEnvironment());

  virtual ~Engine() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// The rank and the number of ranks on this host.
  virtual int local_rank() const = 0;
  virtual int local_size() const = 0;
  /// How often the ranks of an elastic job (weirrun --min-np) have been dealt, this time included;
  /// 1 in any other job.
  virtual int epoch() const = 0;
  /// True once ranks wait to come into an elastic job, or should leave it: leave in good order, on
  /// all ranks at the same place of the program, and make another engine. Ranks learn of it at
  /// different times.
  virtual bool hosts_updated() const = 0;

  /// Combines the same-shaped tensor of every rank; `out` may be `in`'s memory. Both stay valid and
  /// `in` unchanged until the handle is fulfilled. All ranks get the same bits. The output of this
  /// and every later operation is undefined after PeerLost, TimedOut or Corrupt.
  virtual Handle Allreduce(const std::string& name, ConstTensorView in, TensorView out,
                           ReduceOptions options = {}) = 0;

  /// An input of a grouped all-reduce and its result: `out` may be `in`'s memory.
  struct ReduceTensor {
    ConstTensorView in;
    TensorView out;
  };
  /// Combines several tensors of every rank, perhaps of different types, as one operation: all of
  /// them or none. Small ones are fused. The handle is fulfilled when all are done.
  virtual Handle GroupedAllreduce(const std::string& name, std::span<const ReduceTensor> tensors,
                                  ReduceOptions options = {}) = 0;

  // The next six write their results to memory that `allocate` returns. The engine's network thread
  // calls `allocate` once the ranks agree; it must not wait for the engine. Its exception becomes
  // the operation's error on this rank alone. If no memory at all is left for the other ranks'
  // data, the job ends. The memory must not overlap the input's. A tensor without dimensions has no
  // rows and is refused.

  /// One of several inputs of such an operation, and the memory for its result.
  struct RowsTensor {
    ConstTensorView in;
    AllocateOutput allocate;
  };

  /// Concatenates every rank's tensor along the first dimension; all others must be equal. `rows`
  /// is each rank's first dimension.
  virtual Handle Allgather(const std::string& name, ConstTensorView in, AllocateOutput allocate,
                           std::shared_ptr<const void> owner = nullptr, int process_set = 0) = 0;

  /// Allgather of several tensors, perhaps of different types, as one operation: all of them or
  /// none. Small ones are fused. The handle is fulfilled when all are done.
  virtual Handle GroupedAllgather(const std::string& name, std::span<const RowsTensor> tensors,
                                  std::shared_ptr<const void> owner = nullptr,
                                  int process_set = 0) = 0;

  /// Sends rows of the tensor to every rank: the first splits[0] of the first dimension to rank 0,
  /// the next splits[1] to rank 1, and so on. The result holds the rows from all ranks, in rank
  /// order. `splits` has size() entries, none negative, and a sum of at most the first dimension;
  /// further rows are not sent. Empty `splits` send each rank the same number. Other dimensions and
  /// types must be equal. `rows` is the number of rows received from each rank.
  virtual Handle Alltoall(const std::string& name, ConstTensorView in,
                          std::span<const std::int64_t> splits, AllocateOutput allocate,
                          std::shared_ptr<const void> owner = nullptr, int process_set = 0) = 0;

  /// Combines the same-shaped tensor of every rank like a flat Allreduce, to the same bits, and
  /// leaves each rank its part of the rows: RowsOfRank(first dimension, rank, size()) of them.
  /// `rows` is each rank's part.
  virtual Handle Reducescatter(const std::string& name, ConstTensorView in, AllocateOutput allocate,
                               ReduceOptions options = {}) = 0;

  /// Reducescatter of several tensors, perhaps of different types, as one operation: all of them or
  /// none. Small ones of a type are fused. The handle is fulfilled when all are done.
  virtual Handle GroupedReducescatter(const std::string& name, std::span<const RowsTensor> tensors,
                                      ReduceOptions options = {}) = 0;

  /// A tensor of which only some entries are stored, n of them on this rank: entry i is `values`[i]
  /// and lies at `indices`[i] of the tensor's first k dimensions.
  struct SparseTensor {
    Shape shape;         ///< The whole tensor's; the same on all ranks.
    RowsTensor indices;  ///< int64 [n, k]. Not checked against the shape.
    RowsTensor values;   ///< [n, ...]: the shape's dimensions after the first k.
  };
  /// Combines sparse tensors; each rank may store different entries. The result holds all ranks'
  /// entries in rank order; entries of one place are not added up. Values are scaled, and for
  /// kAverage divided by the number of ranks; only kSum and kAverage are allowed. `rows` is each
  /// rank's number of entries.
  virtual Handle SparseAllreduce(const std::string& name, SparseTensor tensor,
                                 ReduceOptions options = {}) = 0;

  /// Copies the root's tensor to every other rank. `root` is a rank of the job, also when only a
  /// process set takes part.
  virtual Handle Broadcast(const std::string& name, TensorView tensor, int root,
                           std::shared_ptr<const void> owner = nullptr, int process_set = 0) = 0;

  /// Done once every rank has submitted it. Names that begin with "weir:" are reserved.
  virtual Handle Barrier(const std::string& name = "barrier", int process_set = 0) = 0;

  /// Says that this rank has no more data. The others go on without it until all have joined. Until
  /// then it counts as zeros in their Allreduce and GroupedAllreduce (an average still divides by
  /// all ranks). In steps of gradient groups it sends nothing and keeps what its compressors hold.
  /// Every other operation of theirs, and minima, maxima and products, fails with Mismatch. Blocks,
  /// and returns the rank of the job that joined last. No other thread of this rank may use the
  /// process set meanwhile. Throws InvalidArgument between BeginStep and WaitStep of a gradient
  /// group of the set.
  virtual int Join(int process_set = 0) = 0;

  /// Says that this rank has what others need that come to an elastic job, because it was among
  /// those that began it, or has got it since. Only such a rank becomes rank 0. Those that begin
  /// the job need not say so.
  virtual void SetReady() = 0;

  // Process sets are ranks that exchange among themselves, independent of all others. An operation
  // takes part in the set it names; 0 is the whole job. Names are matched within a set. There,
  // "every rank", rank order and size() above mean the set's ranks, ascending. Naming a set that
  // does not exist, or that this rank is not in, throws InvalidArgument.

  /// Makes a set of these ranks, in any order, and returns its id; ids count up from 1. A rank may
  /// be in many sets. Collective and blocking: every rank of the job calls it, member or not, with
  /// equal lists (Mismatch). Throws InvalidArgument for a list that is empty, repeats a rank, names
  /// one that does not exist, or equals the ranks of an existing set.
  virtual int AddProcessSet(std::span<const int> ranks) = 0;
  /// Removes a set; its id is never used again. Collective and blocking like AddProcessSet. If a
  /// rank still has an operation or a gradient group of the set, that rank throws InvalidArgument,
  /// the others throw Mismatch, and nothing changes. Nothing may be submitted to the set
  /// meanwhile.
  virtual void RemoveProcessSet(int id) = 0;
  /// The ranks of a set, ascending.
  virtual std::vector<int> ProcessSetRanks(int id) const = 0;

  /// The settings this engine was made with. Settings::compression applies to gradient groups
  /// without options of their own.
  virtual const Settings& settings() const = 0;

  /// Registers gradients that are exchanged together every step. Collective and blocking; the
  /// registrations of all ranks must be equal (Mismatch). The engine must outlive the group.
  virtual std::unique_ptr<GradientGroup> Register(GradientGroupSpec spec) = 0;

  /// Returns true once the operation has ended. Throws InvalidArgument for an unknown handle.
  virtual bool Poll(Handle handle) = 0;

  /// Waits for the operation, forgets the handle and throws the operation's error. A wait longer
  /// than settings.timeout_seconds ends the engine on all ranks with TimedOut.
  virtual void Wait(Handle handle) = 0;

  /// Waits like Wait, but for so long at most: then returns false, and the handle is as it was.
  virtual bool WaitFor(Handle handle, std::chrono::nanoseconds most) = 0;

  /// Traffic of this rank's network so far. Every operation that was waited for is counted.
  virtual NetworkTotals network_totals() = 0;

  /// Says, in lines for people, how the buckets of each gradient group travel, and why: on the
  /// first rank of the group's process set, which plans for all; empty on others. Thread-safe.
  virtual std::string Explain() const = 0;

  /// Records this rank from now on in a file that Perfetto opens (docs/reference/monitoring.md):
  /// `path` on rank 0, with ".rank3" before the extension on rank 3. Replaces a timeline that is
  /// being written. `mark_cycles` adds negotiation rounds. Throws InvalidArgument when the file
  /// cannot be written.
  virtual void StartTimeline(const std::string& path, bool mark_cycles = false) = 0;
  /// Ends the file; does nothing when none is written.
  virtual void StopTimeline() = 0;

  /// Ends the job on all ranks: their waits throw PeerLost with this reason. Idempotent.
  virtual void Abort(const std::string& reason) = 0;
  /// Leaves in good order. Operations not agreed on by then fail with ShutDown on all ranks. Waits
  /// until the other ranks leave or fail. Called by the destructor; idempotent.
  virtual void Shutdown() = 0;
};

/// Runs `body` as `ranks` ranks of one job, each in a thread of this process. Returns when all have
/// returned. Rethrows the first exception of a rank, after ending the others.
void RunLocal(int ranks, const std::function<void(Engine&)>& body, const Settings& settings = {});

}  // namespace weir
