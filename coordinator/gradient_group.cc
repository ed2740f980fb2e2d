#include "coordinator/gradient_group.h"

#include <algorithm>

#include "common/log.h"
#include "compression/answer_options.h"
#include "weir/error.h"

namespace weir {

GradientGroupImpl::GradientGroupImpl(Coordinator& coordinator, GradientGroupSpec spec)
    : coordinator_(coordinator),
      spec_(std::move(spec)),
      set_(coordinator.process_sets().FindOwn(spec_.process_set)),
      name_claim_(coordinator.ClaimGroup(set_, spec_.name)),
      plan_(MakeGroupPlan(spec_, coordinator.settings())),
      steps_(plan_.variants.size(),
             {.reduction = {spec_.op, spec_.prescale, spec_.postscale}, .contexts = {}}),
      answering_(plan_.parts.size()),
      slices_(plan_.parts.size()),
      places_(spec_.tensors.size()),
      non_finite_(spec_.tensors.size()) {
  coordinator_.ThrowIfEnded();  // There is no transport any more to make buckets for.
  WarnOfOptions();
  MakeBuckets();
  Register();
}

GradientGroupImpl::~GradientGroupImpl() {
  if (coordinator_.forked()) return;
  set_.joining().Remove(this);
  if (phase_ == Phase::kClosed) {
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

void GradientGroupImpl::WarnOfOptions() const {
  if (coordinator_.rank() != set_.ranks().front()) return;
  for (const std::string& warning : plan_.warnings) LogWarning("{}", warning);
}

GradientSlice GradientGroupImpl::MakeSlice(std::size_t p) {
  const Part& part = plan_.parts[p];
  const GradientSpec& tensor = spec_.tensors[part.tensor];
  GradientSlice slice;
  slice.name = part.name;
  slice.elements = part.elements;
  slice.dtype = tensor.dtype;
  slice.parameter_group = tensor.parameter_group;
  slice.compressor = plan_.compressors[p].get();
  const Variant& variant = plan_.variants[part.variant];
  if (variant.route.compressed == Exchange::kPushPull) {
    slice.server = static_cast<int>(p % static_cast<std::size_t>(set_.size()));
    if (slice.server == set_.transport().rank()) {
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
    const std::string name =
        spec_.name + "/" + plan_.parts[planned.tensors.front()].name +
        (planned.tensors.size() == 1 ? "" : "+" + std::to_string(planned.tensors.size() - 1));
    buckets_.push_back(std::make_unique<GradientBucket>(
        name, static_cast<std::uint32_t>(b), planned.priority, std::move(slices),
        steps_[plan_.VariantOfBucket(b)], set_, coordinator_.handles(), gate_.get()));
    for (const std::uint32_t p : planned.tensors) slices_[p].bucket = buckets_.back().get();
    const Variant& variant = VariantOf(*buckets_.back());
    coordinator_.NameBucket(*buckets_.back(),
                            {.routes = RouteNames(),
                             .compressor = variant.plain ? "none" : variant.options.compressor(),
                             .group = spec_.name + set_.Suffix()});
  }
}

void GradientGroupImpl::Register() {
  Submission submission;
  submission.request = RegistrationRequest(spec_, plan_, coordinator_.settings());
  std::uint32_t slot = kNoSlot;
  submission.on_agreed = [&slot](const Submission::Agreed& agreed) { slot = agreed.slot; };
  coordinator_.Wait(coordinator_.Submit(set_, std::move(submission)));
  for (const auto& bucket : buckets_) bucket->slot = slot++;
  if (gate_) gate_->slot = slot;
  set_.joining().Add(this);
}

void GradientGroupImpl::AgreeOnStep(const std::string& next_step) {
  Submission submission;
  submission.request.kind = RequestKind::kGroup;
  submission.request.name = spec_.name + ", loaded";
  submission.request.settings = {{"next step", next_step}};
  submission.request.slots = 0;
  coordinator_.Wait(coordinator_.Submit(set_, std::move(submission)));
}

std::size_t GradientGroupImpl::parameter_groups() const {
  return static_cast<std::size_t>(
      1 + std::ranges::max(spec_.tensors, {}, &GradientSpec::parameter_group).parameter_group);
}

}  // namespace weir
