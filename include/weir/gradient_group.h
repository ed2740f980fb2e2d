#pragma once

#include <cstdint>
#include <iosfwd>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "weir/handle.h"
#include "weir/tensor.h"

namespace weir {

/// One tensor whose gradient is exchanged every step.
struct GradientSpec {
  std::string name;  ///< Unique in the group; state is saved under it.
  Shape shape;
  DType dtype = DType::kFloat32;  ///< Floating point; exchanged and remembered as fp32.
  /// Index into StepInfo::learning_rates.
  int parameter_group = 0;
  /// Higher goes first when several buckets are ready.
  int priority = 0;
  /// The device of this rank's gradient and update. Other ranks may differ. All
  /// tensors on GPUs share one GPU.
  Device device{};
  /// Options for this tensor alone, without patterns. They replace the group's.
  std::map<std::string, std::string> compression{};
};

/// A set of gradients that are fused, compressed and exchanged
/// together. An optimizer registers one.
struct GradientGroupSpec {
  std::string name = "gradients";
  std::vector<GradientSpec> tensors;  ///< In forward order.
  /// docs/reference/compression.md. Empty: Settings::compression; if that is empty too, plain
  /// averaging. Keys may carry patterns of the tensors' names.
  std::map<std::string, std::string> compression;
  /// Combines the ranks' gradients: kAverage, or kSum unless a compressor selects entries.
  /// Gradients are multiplied by `prescale` before and by `postscale` after. All three are the same
  /// on all ranks.
  ReduceOp op = ReduceOp::kAverage;
  double prescale = 1.0;
  double postscale = 1.0;
  /// The program uses each result as soon as it is there, and needs those of tensors with a higher
  /// GradientSpec::priority first. Their buckets then overtake others of such groups on the
  /// network. The same on all ranks.
  bool by_priority = false;
  /// The set whose ranks share the gradients (Engine::AddProcessSet); "all ranks" means those.
  int process_set = 0;
  /// Further values that must be equal on all ranks, such as an optimizer's
  /// settings. Compared at registration.
  std::map<std::string, std::string> also_equal{};
};

/// Values of one step. Learning rates must be the same on all ranks; the loss scale may differ.
/// Steps need no comparison: every rank counts them alike.
struct StepInfo {
  std::span<const float> learning_rates;  ///< By parameter group; empty: 0 for all.
  float loss_scale = 1.0f;                ///< Factor on the gradients (mixed precision).
  /// Momentum of compressors that have one (of dgc's Adam, beta1), by parameter group, in place of
  /// that of their options; in [0, 1). The same on all ranks, and not for gradients on a GPU.
  std::span<const double> momenta{};
  /// Those of the step before; empty: the same.
  std::span<const double> previous_momenta{};
  /// As TensorView::stream, for the updates on a GPU of tensors that are not submitted.
  void* stream = nullptr;
  /// DropStep may follow. The memory of compressors is then kept twice, from the first such step
  /// on.
  bool undoable = false;
};

/// Results of one step on this rank.
struct StepReport {
  std::int64_t step = 0;
  bool skipped = false;        ///< A rank's gradient was not finite: nothing was applied anywhere.
  double gradient_norm = 0.0;  ///< Global L2 norm of this rank's gradient; only when clipping.
  double clip_coefficient = 1.0;
  double density = 1.0;                  ///< By the schedule of the options without a pattern.
  std::uint64_t wire_bytes = 0;          ///< Contributed by this rank, headers included.
  std::uint64_t dense_bytes = 0;         ///< The same as plain fp32.
  std::uint64_t non_finite_entries = 0;  ///< Replaced by 0 since the group was made.
};

/// The exchange of a registered group of gradients, step by step. Engine::Register makes one.
///
///     group->BeginStep({.learning_rates = rates});
///     for each tensor, as backprop delivers it:  group->Submit(i, gradient, update);
///     group->EndStep();
///     StepReport report = group->WaitStep();   // now every update holds its result
///
/// With gradients on a GPU, WaitInStream(stream) before WaitStep lets the program go on: its stream
/// waits for the results, and WaitStep may wait until just before the next BeginStep.
///
/// The result of a tensor is the direction that the optimizer subtracts. That is the mean gradient;
/// with momentum inside the compressor ("dgc"), the whole update before the learning rate; with
/// dgc's momentum=adam, the update including the learning rate.
///
/// Submit is thread-safe; all other calls belong to one thread. Errors are the engine's
/// (include/weir/engine.h). Destroying a group between BeginStep and EndStep, as an exception may,
/// ends the job on all ranks, because the others wait for its gradients. Destroying it after
/// EndStep waits for the step.
class GradientGroup {
 public:
  virtual ~GradientGroup() = default;

  virtual const GradientGroupSpec& spec() const = 0;

  /// Opens the next step. Throws InvalidArgument while a step is open or not yet waited for.
  virtual void BeginStep(const StepInfo& info) = 0;

  /// Hands over the gradient of tensor `index` of the registration: this rank's local mean, not
  /// divided by the number of ranks. `update` gets the result; it may be the gradient's own memory.
  /// Both must stay valid until the handle is fulfilled; `owner`, when given, is held until then.
  /// Throws InvalidArgument, and changes nothing, for a wrong index, shape, type or device, a null
  /// pointer, a second submission in the step, or a call outside a step.
  virtual Handle Submit(std::size_t index, ConstTensorView gradient, TensorView update,
                        std::shared_ptr<const void> owner = nullptr) = 0;

  /// Sets the memory for the result of a tensor that this rank does not submit in a step (an unused
  /// parameter still receives the other ranks' part). It holds as many elements as the gradient, of
  /// its dtype and on its device, until the next call or the end of the group. Null drops the
  /// result. Between steps only. Throws InvalidArgument for a wrong index.
  virtual void SetDefaultUpdate(std::size_t index, void* data) = 0;

  /// Notes all tensors of which this rank has no gradient of its own in this step. They may be
  /// submitted afterwards, as zeros or with a part that does not count (weight decay). One that no
  /// rank has a gradient of is left alone: its compressor does not change. At most once a step;
  /// without it, those tensors count that are not submitted. Throws InvalidArgument for one that
  /// was submitted.
  virtual void NoteUnused(std::span<const std::size_t> tensors) = 0;

  /// Supplies zeros for every tensor that was not submitted. Every call of Submit, on any thread,
  /// must have returned. Does not wait.
  virtual void EndStep() = 0;

  /// Returns the tensors that no rank has a gradient of, ascending; their results have no meaning.
  /// Between EndStep and WaitStep. Waits for the other ranks' EndStep if this rank lacks some. None
  /// where summation servers, which remember them too, count zeros instead.
  virtual std::vector<std::size_t> UnusedByAll() = 0;

  /// Makes later work in `stream`, a CUDA stream of the tensors' GPU, wait for the step's results.
  /// Call it between EndStep and WaitStep, once for each stream that uses them. Blocks until all
  /// ranks have submitted; on a route through the host's memory (docs/how-to/gpus.md), until the
  /// results are there. Throws the first error known so far. A later error leaves the results
  /// undefined, and WaitStep throws it.
  virtual void WaitInStream(void* stream) = 0;

  /// Says that the program goes on without the results, and waits for each by its handle
  /// (Engine::Wait); WaitStep may then wait until just before the next BeginStep. For the step's
  /// measured time alone, which ends when the last result is there. Call it between EndStep and
  /// WaitStep.
  virtual void GoOn() = 0;

  /// Waits until every tensor of the step is done. Also forgets the step's handles that nobody
  /// waited for. Throws the first error.
  virtual StepReport WaitStep() = 0;

  /// Takes the step back, on all ranks, between BeginStep and EndStep, or the last one after
  /// WaitStep: compressors' memory becomes what it was, and the next step has the same number. For
  /// a program that has no use for a gradient after all. What updates hold is undefined.
  /// Collective: waits for the step to be exchanged and for all ranks to drop it. The engine ends
  /// with Mismatch where another rank takes it. Throws InvalidArgument in a step that is not
  /// StepInfo::undoable, Mismatch while a rank has joined.
  virtual void DropStep() = 0;
  /// False if a step cannot be undoable: summation servers keep a part of the memory.
  virtual bool undoable() const = 0;

  /// Number of the next step, and its density (StepReport::density).
  virtual std::int64_t next_step() const = 0;
  virtual double next_density() const = 0;

  /// Copies what this rank has accumulated of a gradient and not sent yet (dgc's v), one value for
  /// each of the gradient's. Zeros for a compressor without such state. Between steps only.
  virtual void CopyVelocity(std::size_t index, std::span<float> velocity) const = 0;

  /// Writes the compressors' state of this rank, bit-exactly; between steps only. Throws
  /// InvalidArgument when the stream fails, as on a full disk; training goes on as if nothing had
  /// been asked for.
  virtual void Save(std::ostream& out) const = 0;
  /// Restores saved state: this rank's own file, or, after the number of ranks changed, the files
  /// of all former ranks in rank order. Collective and blocking: all ranks must load states of the
  /// same step (Mismatch). Also throws Corrupt or InvalidArgument, and then changes nothing.
  virtual void Load(std::span<std::istream* const> former_ranks) = 0;
  /// Restores the state of any one rank as this rank's own, for jobs that saved rank 0's alone.
  /// What the other ranks had not sent is lost; this rank's stands for it, as all ranks see
  /// samples of the same distribution. Collective like Load; other ranks may call Load
  /// meanwhile.
  virtual void Adopt(std::istream& one_rank) = 0;
};

}  // namespace weir
