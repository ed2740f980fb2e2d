#include "coordinator/groups/gradient_group.h"

#include <algorithm>
#include <iterator>
#include <ostream>

#include "common/log.h"
#include "compression/gpu/gpu_compressor.h"
#include "compression/options/standard_options.h"
#include "compression/process/process_compressor.h"
#include "weir/error.h"

namespace weir {
namespace {

std::string CompressorOf(const Variant& variant) {
  return variant.plain ? "none" : variant.options.compressor();
}

/// The one that tensors lie on; null: none of them does. Throws InvalidArgument for tensors on
/// several, or on one that cannot be used.
const Gpu* FindGpu(Coordinator& coordinator, const GradientGroupSpec& spec) {
  const GradientSpec* first = nullptr;
  const Gpu* gpu = nullptr;
  for (const GradientSpec& tensor : spec.tensors) {
    if (!tensor.device.is_gpu() || (first != nullptr && first->device == tensor.device)) continue;
    const ErrorContext where{tensor.name, {coordinator.rank()}, "register"};
    if (first != nullptr) {
      throw InvalidArgument("gradient '" + tensor.name + "' is on " + tensor.device.ToString() +
                                " and '" + first->name + "' on " + first->device.ToString() +
                                ": a rank uses one GPU, so start one for each",
                            where);
    }
    first = &tensor;
    gpu = &coordinator.gpus().At(tensor.device, "gradient '" + tensor.name + "'", where);
  }
  return gpu;
}

/// The compressors of the tensors that lie on the GPU, whose work kernels can do, take their memory
/// there. By partition; null where others compress.
std::vector<std::unique_ptr<GpuCompressor>> TakeGpuCompressors(const GradientGroupSpec& spec,
                                                               const Gpu* gpu, GroupPlan& plan) {
  std::vector<std::unique_ptr<GpuCompressor>> taken(plan.partitions.size());
  for (std::size_t p = 0; p < plan.partitions.size(); ++p) {
    const GradientSpec& tensor = spec.tensors[plan.partitions[p].tensor];
    std::unique_ptr<Compressor>& compressor = plan.compressors[p];
    // Kernels read no fp64.
    if (!tensor.device.is_gpu() || tensor.dtype == DType::kFloat64 || !compressor->gpu_rule()) {
      continue;
    }
    taken[p] =
        std::make_unique<GpuCompressor>(std::move(compressor), plan.partitions[p].elements, *gpu);
  }
  return taken;
}

/// Lets those that compress on the CPU do so in the rank's compression process.
void CompressIn(CompressionProcess& process, GroupPlan& plan) {
  for (std::size_t p = 0; p < plan.partitions.size(); ++p) {
    const Partition& partition = plan.partitions[p];
    if (plan.compressors[p] == nullptr) continue;  // On a GPU.
    plan.compressors[p] = ProcessCompressor::Make(
        process, {plan.variants[partition.variant].given, {partition.name, partition.shape}},
        std::move(plan.compressors[p]));
  }
}

}  // namespace

GradientGroupImpl::GradientGroupImpl(Coordinator& coordinator, GradientGroupSpec spec)
    : coordinator_(coordinator),
      spec_(std::move(spec)),
      set_(coordinator.process_sets().FindOwn(spec_.process_set)),
      name_claim_(coordinator.set_changes().ClaimGroup(set_, spec_.name)),
      gpu_(FindGpu(coordinator, spec_)),
      plan_(MakeGroupPlan(spec_, coordinator.settings())),
      on_gpu_(TakeGpuCompressors(spec_, gpu_, plan_)),
      steps_(plan_.variants.size(),
             {.reduction = {spec_.op, spec_.prescale, spec_.postscale}, .contexts = {}}),
      servers_(plan_, set_, coordinator.settings().servers),
      slices_(plan_.partitions.size()),
      places_(spec_.tensors.size()),
      non_finite_(spec_.tensors.size()),
      state_(spec_, plan_, on_gpu_, servers_, hosts_, set_, coordinator.rank()),
      serving_(coordinator, spec_, plan_),
      unused_(coordinator, set_, spec_),
      planning_(coordinator, set_, spec_, plan_),
      divergence_(spec_.name) {
  coordinator_.ending().ThrowIfEnded();  // There is no transport any more to make buckets for.
  WarnOfOptions();
  if (CompressionProcess* const process = coordinator_.compression_process())
    CompressIn(*process, plan_);
  MakeBuckets();
  Register();
}

GradientGroupImpl::~GradientGroupImpl() {
  if (coordinator_.ending().forked()) return;
  if (phase_ == Phase::kEnded) FinishStep();
  set_.joining().Remove(this);
  if (!coordinator_.ending().ended()) WarnOfShortRun();  // A job that failed has another trouble.
  if (phase_ == Phase::kClosed) {
    serving_.Leave();
    coordinator_.Fence();
    return;
  }
  // Its buckets may be on their way, and no memory may go before they have come back. The step
  // cannot be finished either: zeros in the place of gradients would pass for a result on other
  // ranks, and after a Join the others wait for this one's empty frames.
  const std::string during = phase_ == Phase::kEmpty
                                 ? "while its rank had joined (Engine::Join)"
                                 : "in the middle of step " + std::to_string(step().step) +
                                       ": the program ended there, or let go of its optimizer";
  coordinator_.Fail(std::make_exception_ptr(
      ShutDown("the gradient group '" + spec_.name + "' was destroyed " + during)));
  coordinator_.Fence();
}

void GradientGroupImpl::FinishStep() {
  try {
    WaitStep();
  } catch (const std::exception&) {
    return;  // The engine has ended, and has said why.
  }
}

void GradientGroupImpl::WarnOfOptions() const {
  if (coordinator_.rank() != set_.ranks().front()) return;
  for (const std::string& warning : plan_.warnings) LogWarning("{}", warning);
}

void GradientGroupImpl::WarnOfShortRun() {
  if (coordinator_.rank() != set_.ranks().front() || told_of_length_.exchange(true)) return;
  const std::string warning =
      EndedShortWarningOf(plan_.variants[plan_.sparsest].options, spec_.name, next_step_);
  if (!warning.empty()) LogWarning("{}", warning);
}

GradientSlice GradientGroupImpl::MakeSlice(std::size_t p) {
  const Partition& partition = plan_.partitions[p];
  const GradientSpec& tensor = spec_.tensors[partition.tensor];
  const Variant& variant = plan_.variants[partition.variant];
  GradientSlice slice;
  slice.name = partition.name;
  slice.elements = partition.elements;
  slice.dtype = tensor.dtype;
  slice.parameter_group = tensor.parameter_group;
  if (on_gpu_[p]) {
    slice.Use(*on_gpu_[p]);
  } else {
    slice.Use(*plan_.compressors[p]);
  }
  slice.on_gpu = tensor.device.is_gpu();
  slice.record_index = coordinator_.names().Add(
      {.name = spec_.name + "/" + partition.name + set_.Suffix(),
       .routes = RouteNames(),
       .compressor = CompressorOf(variant),
       .group = spec_.name + set_.Suffix(),
       .elements = partition.elements,
       .shape = {partition.shape.dims().begin(), partition.shape.dims().end()}});
  servers_.Place(p, slice);
  return slice;
}

void GradientGroupImpl::MakeBuckets() {
  const std::size_t count = plan_.layout.buckets.size();
  if (plan_.gated()) {
    gate_ = std::make_unique<StepGate>(count, plan_.step_settings.skip_nonfinite,
                                       [this](bool pass) { OnGate(pass); });
  }
  for (std::size_t b = 0; b < count; ++b) {
    const LaidOutBucket& planned = plan_.layout.buckets[b];
    std::vector<GradientSlice> slices;
    for (const std::uint32_t p : planned.tensors) {
      slices_[p].slice = slices.size();
      slices.push_back(MakeSlice(p));
    }
    buckets_.push_back(std::make_unique<GradientBucket>(
        spec_.name + "/" + plan_.NameOfBucket(b), static_cast<std::uint32_t>(b), planned.priority,
        spec_.by_priority, std::move(slices), steps_[plan_.VariantOfBucket(b)], set_,
        coordinator_.handles(), gate_.get(), gpu_));
    for (const std::uint32_t p : planned.tensors) slices_[p].bucket = buckets_.back().get();
    const Variant& variant = VariantOf(*buckets_.back());
    buckets_.back()->record_index =
        coordinator_.names().Add({.name = buckets_.back()->name() + set_.Suffix(),
                                  .routes = RouteNames(),
                                  .compressor = CompressorOf(variant),
                                  .group = spec_.name + set_.Suffix()});
  }
}

void GradientGroupImpl::Register() {
  serving_.Check();
  Submission submission;
  submission.request = RegistrationRequest(spec_, plan_, coordinator_.settings());
  std::ranges::move(planning_.ToAgreeOn(), std::back_inserter(submission.request.settings));
  std::uint32_t slot = kNoSlot;
  const bool all_on_gpu = std::ranges::all_of(
      spec_.tensors, [](const GradientSpec& tensor) { return tensor.device.is_gpu(); });
  if (all_on_gpu) coordinator_.gpu_offers().Offer(*gpu_, submission.request);
  submission.on_agreed = [&](const Submission::Agreed& agreed) {
    slot = agreed.slot;
    gpus_.assign(agreed.gpus.begin(), agreed.gpus.end());
    serving_.TakeNumbers();
  };
  try {
    coordinator_.Wait(coordinator_.Submit(set_, std::move(submission)));
  } catch (const Mismatch&) {
    planning_.ThrowIfUnsuited();
    throw;
  }
  planning_.ThrowIfUnsuited();  // There is no other rank.
  for (const auto& bucket : buckets_) bucket->slot = slot++;
  if (gate_) gate_->slot = slot;
  if (serving_.is_served()) {
    const GroupServers& servers = serving_.Join();
    for (GroupStep& step : steps_) step.servers = &servers;
  }
  set_.joining().Add(this);
}

void GradientGroupImpl::AgreeOnStep(const std::string& next_step) {
  Submission submission;
  submission.request.kind = RequestKind::kGroup;
  submission.request.name = spec_.name + ", loaded";
  submission.request.settings = {{Request::kNextStep, next_step}};
  submission.request.slots = 0;
  coordinator_.Wait(coordinator_.Submit(set_, std::move(submission)));
}

void GradientGroupImpl::CheckBetweenSteps(const char* call) const {
  if (phase_ == Phase::kClosed) return;
  if (!coordinator_.ending().ended()) {
    throw InvalidArgument(std::string(call) + " of '" + spec_.name +
                          "' in the middle of a step: call EndStep and WaitStep first");
  }
  coordinator_.Fence();
  const auto changed = std::ranges::count_if(buckets_, &GradientBucket::changed);
  if (changed == 0) return;
  throw InvalidArgument(
      std::string(call) + " of '" + spec_.name + "' after step " + std::to_string(step().step) +
      " ended when " + std::to_string(changed) + " of its " + std::to_string(buckets_.size()) +
      " buckets were exchanged, or nearly: the state is neither that before the step nor "
      "that after it. Go on from the last checkpoint");
}

void GradientGroupImpl::CopyVelocity(std::size_t index, std::span<float> velocity) const {
  CheckBetweenSteps("CopyVelocity");
  state_.CopyVelocity(index, velocity);
}

void GradientGroupImpl::Save(std::ostream& out) const {
  CheckBetweenSteps("Save");
  SavedState state = state_.Collected();
  state.step = next_step_;
  state.learning_rates = previous_rates_;
  const std::vector<std::byte> bytes = Serialize(state);
  out.write(reinterpret_cast<const char*>(bytes.data()),
            static_cast<std::streamsize>(bytes.size()));
  out.flush();  // A full disk is found here, and not when the program closes the file.
  if (!out) {
    throw InvalidArgument("the state of '" + spec_.name +
                          "' could not be written: is the disk full?");
  }
}

void GradientGroupImpl::LoadTogether(const char* call, const std::function<SavedState()>& read) {
  CheckBetweenSteps(call);
  SavedState mine;
  std::exception_ptr error;
  try {
    mine = read();
  } catch (...) {
    // Whatever it is (a stream may throw its own): the other ranks wait for an answer.
    error = std::current_exception();
  }
  try {
    if (!error) planning_.BeforeLoading(mine.step);
    AgreeOnStep(error ? "unknown, as its state could not be loaded" : std::to_string(mine.step));
  } catch (const Error&) {
    if (!error) throw;
  }
  if (error) std::rethrow_exception(error);
  state_.Restore(mine);
  planning_.OnLoaded(mine.step);
  next_step_ = mine.step;
  previous_rates_ = mine.learning_rates;
}

void GradientGroupImpl::Load(std::span<std::istream* const> former_ranks) {
  LoadTogether("Load", [&] {
    serving_.CheckAreNew("Load");
    return state_.Read(former_ranks);
  });
}

void GradientGroupImpl::Adopt(std::istream& one_rank) {
  LoadTogether("Adopt", [&] {
    serving_.CheckAreNew("Adopt");
    return state_.ReadOne(one_rank);
  });
}

void GradientGroupImpl::WarnOfDivergence(const StepReport& report) {
  const std::string warning =
      divergence_.After({report.skipped, loss_scale_, report.density, MeanThreshold(buckets_)});
  if (warning.empty()) return;
  LogWarning("{}", warning);
  coordinator_.gauges().NoteDivergence(warning);
}

void GradientGroupImpl::FollowPlan(bool empty) {
  if (!servers_.follows_plans()) return;
  for (std::size_t p = 0; p < slices_.size(); ++p) {
    const std::size_t bucket = slices_[p].bucket->gradients().index();
    servers_.Follow(p, planning_.FormOf(bucket), empty, SliceAt(slices_[p]));
  }
}

}  // namespace weir
