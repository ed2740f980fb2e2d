#include "coordinator/groups/gradient_group.h"

#include <algorithm>

#include "common/log.h"
#include "compression/gpu/gpu_compressor.h"
#include "compression/make_compressor.h"
#include "compression/options/answer_options.h"
#include "compression/options/standard_options.h"
#include "coordinator/servers/group_description.h"
#include "ops/push_pull/server_messages.h"
#include "weir/error.h"

namespace weir {
namespace {

std::string CompressorOf(const Variant& variant) {
  return variant.plain ? "none" : variant.options.compressor();
}

}  // namespace

GradientGroupImpl::GradientGroupImpl(Coordinator& coordinator, GradientGroupSpec spec)
    : coordinator_(coordinator),
      spec_(std::move(spec)),
      set_(coordinator.process_sets().FindOwn(spec_.process_set)),
      name_claim_(coordinator.ClaimGroup(set_, spec_.name)),
      gpu_(FindGpu()),
      plan_(MakeGroupPlan(spec_, coordinator.settings())),
      steps_(plan_.variants.size(),
             {.reduction = {spec_.op, spec_.prescale, spec_.postscale}, .contexts = {}}),
      answering_(plan_.parts.size()),
      slices_(plan_.parts.size()),
      places_(spec_.tensors.size()),
      non_finite_(spec_.tensors.size()) {
  coordinator_.ThrowIfEnded();  // There is no transport any more to make buckets for.
  WarnOfOptions();
  MoveCompressorsToGpu();
  MakeBuckets();
  Register();
}

GradientGroupImpl::~GradientGroupImpl() {
  if (coordinator_.forked()) return;
  if (phase_ == Phase::kEnded) FinishStep();
  set_.joining().Remove(this);
  if (!coordinator_.ended()) WarnOfShortRun();  // A job that failed has another trouble.
  if (phase_ == Phase::kClosed) {
    if (servers_) LeaveServers();
    coordinator_.Fence();
    return;
  }
  // Its buckets may be on their way, and no memory may go before they have come back. The step
  // cannot be finished either: zeros in the place of gradients would pass for a result on other
  // ranks, and after a Join the others wait for this one's empty frames.
  const std::string during = phase_ == Phase::kEmpty
                                 ? "while its rank had joined (Engine::Join)"
                                 : "in the middle of step " + std::to_string(step().step);
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

const Gpu* GradientGroupImpl::FindGpu() const {
  const GradientSpec* first = nullptr;
  const Gpu* gpu = nullptr;
  for (const GradientSpec& tensor : spec_.tensors) {
    if (!tensor.device.is_gpu() || (first != nullptr && first->device == tensor.device)) continue;
    const ErrorContext where{tensor.name, {coordinator_.rank()}, "register"};
    if (first != nullptr) {
      throw InvalidArgument("gradient '" + tensor.name + "' is on " + tensor.device.ToString() +
                                " and '" + first->name + "' on " + first->device.ToString() +
                                ": a rank uses one GPU, so start one for each",
                            where);
    }
    first = &tensor;
    gpu = &coordinator_.gpus().At(tensor.device, "gradient '" + tensor.name + "'", where);
  }
  return gpu;
}

void GradientGroupImpl::MoveCompressorsToGpu() {
  for (std::size_t p = 0; p < plan_.parts.size(); ++p) {
    const GradientSpec& tensor = spec_.tensors[plan_.parts[p].tensor];
    std::unique_ptr<Compressor>& compressor = plan_.compressors[p];
    // Kernels read no fp64.
    if (!tensor.device.is_gpu() || tensor.dtype == DType::kFloat64 || !compressor->gpu_rule()) {
      continue;
    }
    compressor =
        std::make_unique<GpuCompressor>(std::move(compressor), plan_.parts[p].elements, *gpu_);
  }
}

GradientSlice GradientGroupImpl::MakeSlice(std::size_t p) {
  const Part& part = plan_.parts[p];
  const GradientSpec& tensor = spec_.tensors[part.tensor];
  const Variant& variant = plan_.variants[part.variant];
  GradientSlice slice;
  slice.name = part.name;
  slice.elements = part.elements;
  slice.dtype = tensor.dtype;
  slice.parameter_group = tensor.parameter_group;
  slice.compressor = plan_.compressors[p].get();
  slice.on_gpu = tensor.device.is_gpu();
  slice.record_index =
      coordinator_.NameGradient({.name = spec_.name + "/" + part.name + set_.Suffix(),
                                 .routes = RouteNames(),
                                 .compressor = CompressorOf(variant),
                                 .group = spec_.name + set_.Suffix(),
                                 .elements = part.elements});
  if (variant.route.compressed == Exchange::kPushPull) {
    const int dedicated = coordinator_.settings().servers;
    slice.server = ServerOf(p, dedicated > 0 ? dedicated : set_.size());
    const bool elsewhere = dedicated > 0 || variant.route.max_staleness > 0;
    if (!elsewhere && slice.server == set_.transport().rank()) {
      answering_[p] = MakeCompressor(AnswerOptions(variant.given), {part.name, part.shape});
      slice.answering = answering_[p].get();
    }
  }
  return slice;
}

void GradientGroupImpl::MakeBuckets() {
  const std::size_t count = plan_.plan.buckets.size();
  if (plan_.gated()) {
    gate_ = std::make_unique<StepGate>(count, plan_.step_settings.skip_nonfinite,
                                       [this](bool pass) { OnGate(pass); });
  }
  for (std::size_t b = 0; b < count; ++b) {
    const PlannedBucket& planned = plan_.plan.buckets[b];
    std::vector<GradientSlice> slices;
    for (const std::uint32_t p : planned.tensors) {
      slices_[p].slice = slices.size();
      slices.push_back(MakeSlice(p));
    }
    buckets_.push_back(std::make_unique<GradientBucket>(
        spec_.name + "/" + plan_.NameOfBucket(b), static_cast<std::uint32_t>(b), planned.priority,
        std::move(slices), steps_[plan_.VariantOfBucket(b)], set_, coordinator_.handles(),
        gate_.get(), gpu_));
    for (const std::uint32_t p : planned.tensors) slices_[p].bucket = buckets_.back().get();
    const Variant& variant = VariantOf(*buckets_.back());
    coordinator_.NameBucket(*buckets_.back(), {.routes = RouteNames(),
                                               .compressor = CompressorOf(variant),
                                               .group = spec_.name + set_.Suffix()});
  }
}

void GradientGroupImpl::Register() {
  const bool served =
      plan_.asynchronous() || (plan_.pushes() && coordinator_.server_links().dedicated());
  if (served) CheckServable();
  Submission submission;
  submission.request = RegistrationRequest(spec_, plan_, coordinator_.settings());
  std::uint32_t slot = kNoSlot;
  std::optional<std::uint32_t> number;
  const bool all_on_gpu = std::ranges::all_of(
      spec_.tensors, [](const GradientSpec& tensor) { return tensor.device.is_gpu(); });
  if (all_on_gpu) coordinator_.gpu_offers().Offer(*gpu_, submission.request);
  submission.on_agreed = [&](const Submission::Agreed& agreed) {
    slot = agreed.slot;
    gpus_.assign(agreed.gpus.begin(), agreed.gpus.end());
    if (served) number = coordinator_.TakeServerNumbers(buckets_.size());
  };
  coordinator_.Wait(coordinator_.Submit(set_, std::move(submission)));
  for (const auto& bucket : buckets_) bucket->slot = slot++;
  if (gate_) gate_->slot = slot;
  if (served) JoinServers(number);
  set_.joining().Add(this);
}

void GradientGroupImpl::CheckServable() const {
  if (set_.id() == ProcessSet::kGlobal) return;
  throw InvalidArgument("the gradient group '" + spec_.name + "' is one of process set " +
                        std::to_string(set_.id()) +
                        ", but servers (weirrun --servers) and max_staleness are for gradients of "
                        "the whole job: take another route than push_pull");
}

void GradientGroupImpl::JoinServers(std::optional<std::uint32_t> first_number) {
  if (!first_number) {
    throw InvalidArgument("the gradient group '" + spec_.name + "' has " +
                          std::to_string(buckets_.size()) +
                          " buckets, more than servers have numbers left for in this job; make "
                          "groups once and not again and again, or raise partition_bytes");
  }
  servers_ = {&coordinator_.server_links(), *first_number, ParameterGroups(spec_)};
  for (GroupStep& step : steps_) step.servers = &*servers_;
  ControlMessage message{
      .kind = ControlMessage::Kind::kRegister,
      .group = {.first_number = *first_number,
                .spec = {.name = spec_.name,
                         .tensors = spec_.tensors,
                         .compression = GivenOptions(spec_, coordinator_.settings())},
                .fusion_threshold_bytes = coordinator_.settings().fusion_threshold_bytes}};
  std::vector<std::byte> bytes = Serialize(message);
  if (bytes.size() > server_messages::kMostControlBytes) {
    throw InvalidArgument(
        "the gradient group '" + spec_.name + "' takes " + std::to_string(bytes.size()) +
        " bytes to describe, and servers take in " +
        std::to_string(server_messages::kMostControlBytes) +
        ": give fewer tensors a group, shorter names, or options by pattern and not by tensor");
  }
  coordinator_.UseServers(coordinator_.rank() == 0 ? std::move(bytes) : std::vector<std::byte>(),
                          plan_.asynchronous());
}

void GradientGroupImpl::LeaveServers() {
  coordinator_.UseServers(
      Serialize({.kind = ControlMessage::Kind::kRelease,
                 .group = {.first_number = servers_->first_number, .spec = {}}}),
      /*asynchronous=*/false);
}

void GradientGroupImpl::CheckServersAreNew(const char* call) const {
  if (!servers_ || !pushed_) return;
  throw InvalidArgument(std::string(call) + " of '" + spec_.name +
                        "' after its first step: its servers (weirrun --servers, or max_staleness) "
                        "would mix what they keep with another state; load before the first step");
}

void GradientGroupImpl::AgreeOnStep(const std::string& next_step) {
  Submission submission;
  submission.request.kind = RequestKind::kGroup;
  submission.request.name = spec_.name + ", loaded";
  submission.request.settings = {{"next step", next_step}};
  submission.request.slots = 0;
  coordinator_.Wait(coordinator_.Submit(set_, std::move(submission)));
}

}  // namespace weir
