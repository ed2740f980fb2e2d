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
  /// Where this rank's gradient lies, and its update; other ranks may have them elsewhere. All that
  /// lie on GPUs lie on one.
  Device device{};
  /// Options for this tensor alone, without patterns, in place of the group's.
  std::map<std::string, std::string> compression{};
};

/// A set of gradients that are fused, compressed and exchanged together: what an optimizer
/// registers.
struct GradientGroupSpec {
  std::string name = "gradients";
  std::vector<GradientSpec> tensors;  ///< In forward order.
  /// docs/reference/compression.md; empty: Settings::compression, and plain averaging without it.
  /// Keys may carry patterns of the tensors' names.
  std::map<std::string, std::string> compression;
  /// How the ranks' gradients are combined: kAverage or, without a compressor that selects entries,
  /// kSum. Both are multiplied by `prescale` before and by `postscale` after. The same on all
  /// ranks.
  ReduceOp op = ReduceOp::kAverage;
  double prescale = 1.0;
  double postscale = 1.0;
  /// Whose ranks share the gradients (Engine::AddProcessSet); "all ranks" means those.
  int process_set = 0;
  /// What else has to be the same on all ranks, such as the settings of an optimizer around the
  /// group: compared when it is registered.
  std::map<std::string, std::string> also_equal{};
};

/// What holds for one step. Learning rates must be the same on all ranks, as steps are by
/// themselves; the loss scale may differ.
struct StepInfo {
  std::span<const float> learning_rates;  ///< By parameter group; empty: 0 for all.
  float loss_scale = 1.0f;                ///< Gradients carry this factor (mixed precision).
  /// As TensorView::stream, of the updates on a GPU of tensors that are not submitted.
  void* stream = nullptr;
};

/// What one step did on this rank.
struct StepReport {
  std::int64_t step = 0;
  bool skipped = false;        ///< A rank's gradient was not finite: nothing was applied anywhere.
  double gradient_norm = 0.0;  ///< Global L2 norm of this rank's gradient; only when clipping.
  double clip_coefficient = 1.0;
  double density = 1.0;                  ///< What the schedule of options without a pattern says.
  std::uint64_t wire_bytes = 0;          ///< What this rank contributed, headers included.
  std::uint64_t dense_bytes = 0;         ///< The same as plain fp32.
  std::uint64_t non_finite_entries = 0;  ///< Taken as 0 so far, since the group was made.
};

/// The exchange of a registered group of gradients, step by step. Made by Engine::Register.
///
///     group->BeginStep({.learning_rates = rates});
///     for each tensor, as backprop delivers it:  group->Submit(i, gradient, update);
///     group->EndStep();
///     StepReport report = group->WaitStep();   // now every update holds its result
///
/// Where gradients lie on a GPU, WaitInStream(stream) before WaitStep lets the program go on: its
/// stream waits for the results, and WaitStep can come as late as the next BeginStep.
///
/// The result of a tensor is the direction the optimizer subtracts: the mean gradient, or with
/// momentum inside the compressor ("dgc") the whole update before the learning rate; with its
/// momentum=adam the learning rate is in it.
///
/// Submit is thread-safe; all other calls belong to one thread. Errors are the engine's
/// (include/weir/engine.h). To destroy a group between BeginStep and EndStep, as an exception may
/// do, ends the job on all ranks: the others wait for its gradients. After EndStep, that waits for
/// the step.
class GradientGroup {
 public:
  virtual ~GradientGroup() = default;

  virtual const GradientGroupSpec& spec() const = 0;

  /// Opens the next step. Throws InvalidArgument while one is open or not yet waited for.
  virtual void BeginStep(const StepInfo& info) = 0;

  /// Hands over the gradient of tensor `index` of the registration: this rank's local mean, not
  /// divided by the number of ranks. `update` gets the result; it may be the gradient's own memory.
  /// Both must stay valid until the handle is fulfilled; `owner`, when given, is held until then.
  /// Throws InvalidArgument, and changes nothing, for a wrong index, shape, type or device, a null
  /// pointer, a second submission in the step, or outside a step.
  virtual Handle Submit(std::size_t index, ConstTensorView gradient, TensorView update,
                        std::shared_ptr<const void> owner = nullptr) = 0;

  /// Where the result of a tensor goes that this rank does not submit in a step (an unused
  /// parameter still receives the other ranks' part): room for as many elements of its dtype as the
  /// gradient has, where it lies, until the next call for it or the end of the group. Null: it is
  /// dropped. Between steps only. Throws InvalidArgument for a wrong index.
  virtual void SetDefaultUpdate(std::size_t index, void* data) = 0;

  /// Supplies zeros for every tensor that was not submitted. Every call of Submit, on whatever
  /// thread, must have returned. Does not wait.
  virtual void EndStep() = 0;

  /// What is given from here on to `stream`, a CUDA stream of the GPU on which the tensors lie,
  /// waits for the step's results. Between EndStep and WaitStep, for as many streams as work with
  /// them. Waits itself until all ranks have submitted theirs, and on a way through the host's
  /// memory (docs/how-to/gpus.md) for the results. Throws the first error that it knows of; one
  /// that comes later leaves results that are none, and WaitStep throws it.
  virtual void WaitInStream(void* stream) = 0;

  /// Waits until every tensor of the step is done. Also forgets the step's handles that were not
  /// waited for. Throws the first error.
  virtual StepReport WaitStep() = 0;

  /// Step number of the next BeginStep, and its density (StepReport::density).
  virtual std::int64_t next_step() const = 0;
  virtual double next_density() const = 0;

  /// Writes what this rank has accumulated of a gradient and not sent yet (dgc's v; zeros where the
  /// compressor has no such thing), as many values as the gradient has; between steps only.
  virtual void CopyVelocity(std::size_t index, std::span<float> velocity) const = 0;

  /// Writes the compressors' state of this rank, bit-exactly; between steps only.
  virtual void Save(std::ostream& out) const = 0;
  /// Restores it: {this rank's own file}, or after the number of ranks changed the files of all
  /// former ranks in rank order. Collective and blocking: all ranks have to load states of the same
  /// step (Mismatch). Throws Corrupt or InvalidArgument too, and then changes nothing.
  virtual void Load(std::span<std::istream* const> former_ranks) = 0;
  /// Restores the state of one rank, whichever it was, as this rank's own: for jobs that saved that
  /// of rank 0 alone. What the other ranks had not sent is lost; what this one had stands for it,
  /// as all ranks see samples of the same distribution. Collective like Load, and may meet Load of
  /// another rank.
  virtual void Adopt(std::istream& one_rank) = 0;
};

}  // namespace weir
