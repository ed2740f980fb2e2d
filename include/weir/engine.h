#pragma once

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

/// Of an operation that combines values.
struct ReduceOptions {
  ReduceOp op = ReduceOp::kAverage;
  double prescale = 1.0;   ///< Every rank's values are multiplied by this first,
  double postscale = 1.0;  ///< the result by this at the end. The same on all ranks.
  int priority = 0;
  std::shared_ptr<const void> owner;  ///< Held until the operation is done.
  int process_set = 0;                ///< Whose ranks take part (Engine::AddProcessSet).
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
  /// after settings.start_timeout_seconds. MPI's own initialisation comes before and has no
  /// deadline of its own: under weirrun the whole job ends when a rank does not come in that time.
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
                           ReduceOptions options = {}) = 0;

  /// What a grouped all-reduce combines: `out` may be `in`'s memory.
  struct ReduceTensor {
    ConstTensorView in;
    TensorView out;
  };
  /// Combines several tensors of every rank, perhaps of different types, as one operation: all of
  /// them or none. Small ones are fused. The handle is fulfilled when all are done.
  virtual Handle GroupedAllreduce(const std::string& name, std::span<const ReduceTensor> tensors,
                                  ReduceOptions options = {}) = 0;

  // The next six make their results in memory that `allocate` returns. It is called once the ranks
  // agree, on the engine's network thread: it must not wait for the engine. What it throws becomes
  // the operation's error on this rank alone, unless there is no memory at all for what the others
  // send, which ends the job. The memory must not overlap the input's. A tensor
  // without dimensions has no rows and is refused.

  /// What such an operation takes where it has several: a tensor, and its result's memory.
  struct RowsTensor {
    ConstTensorView in;
    AllocateOutput allocate;
  };

  /// Concatenates every rank's tensor along the first dimension, which alone may differ. `rows` is
  /// each rank's first dimension.
  virtual Handle Allgather(const std::string& name, ConstTensorView in, AllocateOutput allocate,
                           std::shared_ptr<const void> owner = nullptr, int process_set = 0) = 0;

  /// Allgather of several tensors, perhaps of different types, as one operation: all of them or
  /// none. Small ones are fused. The handle is fulfilled when all are done.
  virtual Handle GroupedAllgather(const std::string& name, std::span<const RowsTensor> tensors,
                                  std::shared_ptr<const void> owner = nullptr,
                                  int process_set = 0) = 0;

  /// Sends rows of the tensor to every rank: the first splits[0] of the first dimension to rank 0,
  /// the next splits[1] to rank 1, and so on; the result is what all ranks have sent here, in rank
  /// order. `splits` has size() entries, none negative, whose sum is at most the first dimension
  /// (the rest goes nowhere); none at all is the same number for each rank. Other dimensions and
  /// types must be equal. `rows` is what was received from each rank.
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

  /// A tensor of which only some entries are stored, n of them at this rank: entry i is
  /// `values`[i] and lies at `indices`[i] of the tensor's first k dimensions.
  struct SparseTensor {
    Shape shape;         ///< Of the whole, the same on all ranks.
    RowsTensor indices;  ///< int64 [n, k]. Whether they lie in the shape is not looked at.
    RowsTensor values;   ///< [n, ...]: the shape's dimensions after the first k.
  };
  /// Combines sparse tensors, of which every rank may store other entries. The results are all
  /// ranks' entries in rank order, those of one place not yet added up; values are scaled, and for
  /// kAverage divided by the number of ranks. Other combinations have no meaning. `rows` is each
  /// rank's number of entries.
  virtual Handle SparseAllreduce(const std::string& name, SparseTensor tensor,
                                 ReduceOptions options = {}) = 0;

  /// Copies the root's tensor into every other rank's. `root` is its rank in the job, also when
  /// only a process set takes part.
  virtual Handle Broadcast(const std::string& name, TensorView tensor, int root,
                           std::shared_ptr<const void> owner = nullptr, int process_set = 0) = 0;

  /// Fulfilled once every rank has submitted it. Names that begin with "weir:" are the engine's.
  virtual Handle Barrier(const std::string& name = "barrier", int process_set = 0) = 0;

  /// This rank has no more data: the others go on without it, until all have joined. Until then it
  /// counts in their Allreduce and GroupedAllreduce as zeros (an average still divides by all
  /// ranks), and in the steps of gradient groups as a rank that sends nothing and keeps what its
  /// compressors have accumulated. Everything else that they submit, and minima, maxima and
  /// products, fails with Mismatch. Blocks, and returns the rank of the job that was the last to
  /// join. No other thread of this rank uses the process set meanwhile. Throws InvalidArgument
  /// between BeginStep and WaitStep of a gradient group of the set.
  virtual int Join(int process_set = 0) = 0;

  // Process sets: ranks that exchange among themselves, beside and independent of all others. An
  // operation takes part in the one it names; 0 is the whole job. Names are matched within a set,
  // and in the descriptions above "every rank", rank order and size() mean its ranks, ascending.
  // Naming a set that does not exist, or that this rank is not in, throws InvalidArgument.

  /// Makes a set of these ranks, in any order, and returns its id; ids count up from 1. A rank may
  /// be in many sets. Collective and blocking: every rank of the job calls it, member or not, and
  /// the lists must be equal (Mismatch). Throws InvalidArgument for a list that is empty, repeats a
  /// rank or names one that does not exist, and where a set of these ranks exists already.
  virtual int AddProcessSet(std::span<const int> ranks) = 0;
  /// Forgets a set; its id is never given again. Collective and blocking like AddProcessSet. While
  /// an operation or a gradient group of the set is alive on some rank it throws there
  /// (InvalidArgument) and on the others (Mismatch), and changes nothing. Nothing may be submitted
  /// to the set meanwhile.
  virtual void RemoveProcessSet(int id) = 0;
  /// The ranks of a set, ascending.
  virtual std::vector<int> ProcessSetRanks(int id) const = 0;

  /// What the engine was made with. Settings::compression is for the gradients of groups that say
  /// nothing about it; a group's own options replace it.
  virtual const Settings& settings() const = 0;

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

  /// Writes what this rank does from now on to a file that Perfetto opens (docs/reference/
  /// monitoring.md): `path` on rank 0, with ".rank3" before the extension on rank 3. Takes the
  /// place of a timeline that is being written. `mark_cycles`: negotiation rounds too. Throws
  /// InvalidArgument when the file cannot be written.
  virtual void StartTimeline(const std::string& path, bool mark_cycles = false) = 0;
  /// Ends the file; does nothing when none is written.
  virtual void StopTimeline() = 0;

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
