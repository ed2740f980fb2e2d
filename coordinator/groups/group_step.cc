#include <algorithm>
#include <cmath>
#include <utility>

#include "common/clock.h"
#include "common/log.h"
#include "common/settings/strict.h"
#include "compression/dgc/clipping.h"
#include "coordinator/groups/gradient_group.h"
#include "coordinator/groups/submission_check.h"
#include "coordinator/routes/frame_coder.h"
#include "weir/error.h"

// A group's step, from BeginStep to WaitStep, and one that this rank has nothing for.

namespace weir {
namespace {

/// What route=hierarchical takes.
constexpr const char* kHierarchy =
    "two hosts or more with the same number of ranks on each, two or more";

std::optional<double> MomentumOf(const StepInfo& info, std::size_t parameter_group) {
  if (info.momenta.empty()) return {};
  return info.momenta[parameter_group];
}

double MomentumRatioOf(const StepInfo& info, std::size_t parameter_group) {
  if (info.momenta.empty() || info.previous_momenta.empty()) return 1.0;
  const double now = info.momenta[parameter_group];
  const double before = info.previous_momenta[parameter_group];
  return now == 0.0 || before == 0.0 ? 1.0 : now / before;
}

}  // namespace

void GradientGroupImpl::SetContexts(const StepInfo& info) {
  const std::size_t groups = ParameterGroups(spec_);
  std::vector<float> rates(info.learning_rates.begin(), info.learning_rates.end());
  if (rates.empty()) rates.assign(groups, 0.0f);
  const bool on_gpu = std::ranges::any_of(on_gpu_, [](const auto& one) { return one != nullptr; });
  CheckStepInfo(spec_, rates, info, groups, on_gpu);
  rates_ = std::move(rates);
  const std::vector<float>& previous = previous_rates_.empty() ? rates_ : previous_rates_;
  for (std::size_t v = 0; v < steps_.size(); ++v) {
    const Schedule& schedule = plan_.variants[v].schedule;
    steps_[v].contexts.clear();
    for (std::size_t i = 0; i < groups; ++i) {
      steps_[v].contexts.push_back({.step = next_step_,
                                    .dense_phase = schedule.DensePhase(next_step_),
                                    .density = schedule.Density(next_step_),
                                    .learning_rate = rates_[i],
                                    .previous_learning_rate = previous[i],
                                    .gradient_scale = 1.0f / info.loss_scale,
                                    .momentum = MomentumOf(info, i),
                                    .momentum_ratio = MomentumRatioOf(info, i),
                                    .rank = coordinator_.rank(),
                                    .pool = &coordinator_.pool()});
    }
  }
}

void GradientGroupImpl::OpenStep(bool undoable) {
  for (std::size_t v = 0; v < steps_.size(); ++v) {
    steps_[v].step = next_step_;
    steps_[v].density = plan_.variants[v].schedule.Density(next_step_);
    // Servers beside the ranks do not hear of plans.
    steps_[v].epoch = serving_.is_served() ? 0 : planning_.epoch();
    steps_[v].codec = plan_.variants[v].codec;
    steps_[v].hosts = hosts_ ? &*hosts_ : nullptr;
    steps_[v].halves_inside_hosts = plan_.variants[v].route.halves_inside;
    steps_[v].gpus = gpus_.empty() ? nullptr : &gpus_;
    steps_[v].undoable = undoable;
    steps_[v].asynchronous = plan_.variants[v].route.max_staleness > 0;
  }
  skipped_ = false;
  clip_coefficient_ = 1.0;
  if (gate_) gate_->Reset();
}

RouteFacts GradientGroupImpl::FactsOf(const GradientBucket& bucket) const {
  const Variant& variant = VariantOf(bucket);
  RouteFacts facts{.settings = variant.route,
                   .ranks = set_.size(),
                   .plain = variant.plain,
                   .remembers = variant.remembers,
                   .dense_phase = variant.schedule.DensePhase(next_step_),
                   .form = planning_.FormOf(bucket.gradients().index()),
                   .deterministic = coordinator_.settings().deterministic,
                   .by_hosts = hosts_.has_value()};
  facts.settings.dedicated_servers = coordinator_.settings().servers > 0;
  facts.by_links = serving_.servers() && (serving_.servers()->links->dedicated() ||
                                          bucket.gradients().step().asynchronous);
  return facts;
}

void GradientGroupImpl::SetHosts(std::optional<HostGrid> hosts) {
  hosts_ = std::move(hosts);
  if (hosts_ || set_.size() == 1 || coordinator_.rank() != set_.ranks().front()) return;
  LogWarning(
      "'{}' asks for route=hierarchical, which takes {}; its gradients go from rank to rank, as "
      "with "
      "route=allgather",
      spec_.name, kHierarchy);
}

void GradientGroupImpl::CheckStrict(const GradientBucket& bucket, RouteKind route) const {
  if (!coordinator_.settings().strict) return;
  const Variant& variant = VariantOf(bucket);
  const std::string what = "a bucket of '" + spec_.name + "' would ";
  const std::string when = " in step " + std::to_string(next_step_);
  if (route == RouteKind::kGather && variant.route.compressed == WireRoute::kHostAllgather) {
    throw StrictError(what + "not travel by route=hierarchical" + when + ": that takes " +
                      kHierarchy + ". Leave it out, or start the ranks so");
  }
  if (route != RouteKind::kMasked) return;
  const bool asked_for =
      variant.options.Given("policy") &&
      WantedWireRoute(FactsOf(bucket), bucket.gradients()) == WireRoute::kDenseAllreduce;
  if (asked_for) return;
  const GradientSlices& gradients = bucket.gradients();
  const double density = gradients.step().density;
  throw StrictError(what + "travel uncompressed" + when + ": its " +
                    std::to_string(bucket.dense_bytes()) + " bytes make frames of up to " +
                    std::to_string(FrameCoder::MaxBytes(gradients, density)) + " at density " +
                    std::to_string(density) + ", from each of " + std::to_string(set_.size()) +
                    " ranks. Say policy=auto if that is meant, policy=always to compress, or lower "
                    "the density");
}

std::vector<Bucket*> GradientGroupImpl::BeginEmptyStep() {
  // What the others' step is like; this rank knows no newer rates. It may compress for its host.
  planning_.Begin(next_step_, /*empty=*/true);
  FollowPlan(/*empty=*/true);
  SetContexts({.learning_rates = previous_rates_});
  OpenStep(/*undoable=*/false);
  std::vector<Bucket*> buckets;
  for (const auto& bucket : buckets_) {
    bucket->Prepare(ChooseRoute(FactsOf(*bucket), bucket->gradients()), /*empty=*/true);
    buckets.push_back(bucket.get());
  }
  phase_ = Phase::kEmpty;
  return buckets;
}

void GradientGroupImpl::EndEmptyStep(bool taken) {
  if (taken) planning_.EndEmpty(next_step_++);
  phase_ = Phase::kClosed;
}

void GradientGroupImpl::BeginStep(const StepInfo& info) {
  coordinator_.ending().ThrowIfEnded();
  if (phase_ != Phase::kClosed) {
    throw InvalidArgument("BeginStep of '" + spec_.name +
                          "' while the step before is not finished: call EndStep and WaitStep");
  }
  if (info.undoable && !undoable()) {
    throw InvalidArgument("BeginStep of '" + spec_.name +
                          "' with undoable, but its summation servers cannot take a step back");
  }
  planning_.Begin(next_step_);
  FollowPlan(/*empty=*/false);
  SetContexts(info);
  step_stream_ = info.stream;
  loss_scale_ = info.loss_scale;
  went_on_ns_ = 0;
  OpenStep(info.undoable);
  for (const auto& bucket : buckets_) {
    const RouteKind route = ChooseRoute(FactsOf(*bucket), bucket->gradients());
    CheckStrict(*bucket, route);
    bucket->Prepare(route);
  }
  if (dropped_step_ >= 0 && dropped_step_ == next_step_ - 1) FailAsDropped();
  for (Place& place : places_) place.submitted.store(false, std::memory_order_relaxed);
  for (const auto& bucket : buckets_) bucket->SetQueued(coordinator_.handles().Create());
  if (coordinator_.ending().ended()) FailQueued();  // As in Enter.
  coordinator_.gauges().SetTargetDensity(spec_.name, step().density);
  step_part_.emplace(coordinator_.steps(), NowNs());
  serving_.NoteStep();
  unused_.Begin(next_step_);
  planning_.PlanNext(next_step_);
  phase_ = Phase::kOpen;
}

Handle GradientGroupImpl::Submit(std::size_t index, ConstTensorView gradient, TensorView update,
                                 std::shared_ptr<const void> owner) {
  coordinator_.ending().ThrowIfEnded();
  const bool in_step = phase_.load(std::memory_order_acquire) == Phase::kOpen;
  CheckSubmission(spec_, coordinator_.rank(), in_step, index, gradient, update);
  if (places_[index].submitted.exchange(true, std::memory_order_acq_rel)) {
    throw InvalidArgument("gradient '" + spec_.tensors[index].name +
                              "' was already submitted in step " + std::to_string(step().step),
                          {spec_.tensors[index].name, {coordinator_.rank()}, "submit"});
  }
  try {
    return Enter(index, gradient.data, update.data, gradient.stream, owner);
  } catch (...) {
    places_[index].submitted.store(false, std::memory_order_release);
    throw;
  }
}

void GradientGroupImpl::CheckStream(void* stream) {
  if (checked_stream_.load(std::memory_order_relaxed) == stream) return;
  GpuEvent(*gpu_).Record(stream);
  checked_stream_.store(stream, std::memory_order_relaxed);
}

Handle GradientGroupImpl::Enter(std::size_t index, const void* gradient, void* update, void* stream,
                                const std::shared_ptr<const void>& owner) {
  if (spec_.tensors[index].device.is_gpu()) CheckStream(stream);  // First what may fail.
  const Handle handle =
      coordinator_.handles().Create(static_cast<std::uint32_t>(plan_.PartitionsOf(index)));
  places_[index].handle = handle;
  // Made after the engine had failed every handle: nobody else would fulfil it.
  if (coordinator_.ending().ended())
    coordinator_.handles().Complete(handle, coordinator_.ending().error());
  const std::int64_t now_ns = NowNs();
  const std::size_t width = SizeOf(spec_.tensors[index].dtype);
  for (std::size_t p = plan_.first_partition[index]; p < plan_.first_partition[index + 1]; ++p) {
    GradientSlice& slice = SliceAt(slices_[p]);
    const std::size_t at = plan_.partitions[p].begin * width;
    slice.gradient = gradient == nullptr ? nullptr : static_cast<const std::byte*>(gradient) + at;
    slice.update = update == nullptr ? nullptr : static_cast<std::byte*>(update) + at;
    slice.stream = stream;
    slice.owner = owner;
    slice.handle = handle;
    slice.trace.submitted_ns = now_ns;
    CountSubmission(*slices_[p].bucket, now_ns);
  }
  return handle;
}

void GradientGroupImpl::CountSubmission(GradientBucket& bucket, std::int64_t now_ns) {
  std::int64_t unset = 0;
  if (bucket.first_ns.load(std::memory_order_relaxed) == 0) {
    bucket.first_ns.compare_exchange_strong(unset, now_ns);
  }
  ++coordinator_.gauges().depth(Stage::kQueue);
  if (!bucket.CountSubmission()) return;
  coordinator_.gauges().depth(Stage::kQueue) -= static_cast<std::int64_t>(bucket.slices().size());
  StageRecord record =
      bucket.RecordOf(Stage::kQueue, bucket.first_ns.load(std::memory_order_relaxed), NowNs());
  record.bytes_in = record.bytes_out = bucket.dense_bytes();
  coordinator_.recorder().Add(record);
  try {
    bucket.RecordProgram();
  } catch (const std::exception&) {
    return coordinator_.Fail(std::current_exception());  // A GPU that has failed.
  }
  coordinator_.Run(&bucket);
}

void GradientGroupImpl::SetDefaultUpdate(std::size_t index, void* data) {
  if (index >= places_.size()) {
    throw InvalidArgument("SetDefaultUpdate(" + std::to_string(index) + ") of '" + spec_.name +
                          "', which has " + std::to_string(places_.size()) + " tensors");
  }
  places_[index].default_update = data;
}

void GradientGroupImpl::EndStep() {
  if (phase_ != Phase::kOpen) {
    throw InvalidArgument("EndStep of '" + spec_.name + "' without BeginStep");
  }
  // Who hears of the end lets go of gradients that the network thread may still be reading.
  if (coordinator_.ending().ended()) coordinator_.Fence();
  coordinator_.ending().ThrowIfEnded();
  NoteUnsubmitted();
  for (std::size_t i = 0; i < places_.size(); ++i) {
    if (places_[i].submitted.exchange(true, std::memory_order_acq_rel)) continue;
    Enter(i, nullptr, places_[i].default_update, step_stream_, nullptr);
  }
  phase_ = Phase::kEnded;
  if (dropped_step_ == next_step_) FailAsDropped();
}

void GradientGroupImpl::FailQueued() {
  for (const auto& bucket : buckets_) {
    coordinator_.handles().Complete(bucket->queued(), coordinator_.ending().error());
  }
}

void GradientGroupImpl::CheckEnded(const char* call) const {
  if (phase_ == Phase::kEnded) return;
  throw InvalidArgument(std::string(call) + " of '" + spec_.name + "' without EndStep");
}

void GradientGroupImpl::WaitInStream(void* stream) {
  CheckEnded("WaitInStream");
  for (const auto& bucket : buckets_) coordinator_.WaitIfKnown(bucket->queued());
  for (const auto& bucket : buckets_) bucket->LetWait(stream);
  went_on_ns_ = NowNs();
}

void GradientGroupImpl::GoOn() {
  CheckEnded("GoOn");
  went_on_ns_ = NowNs();
}

std::int64_t GradientGroupImpl::StepEndNs() const {
  if (went_on_ns_ == 0) return NowNs();
  std::int64_t end_ns = went_on_ns_;
  for (const auto& bucket : buckets_) end_ns = std::max(end_ns, bucket->delivered_ns());
  return end_ns;
}

void GradientGroupImpl::AwaitBuckets() {
  std::exception_ptr first_error;
  const auto wait = [&](Handle handle) {
    try {
      coordinator_.WaitIfKnown(handle);
    } catch (...) {
      if (!first_error) first_error = std::current_exception();
    }
  };
  for (Place& place : places_) wait(std::exchange(place.handle, kNoHandle));
  for (const auto& bucket : buckets_) {
    wait(bucket->queued());
    bucket->SetQueued(kNoHandle);
  }
  for (const SlicePlace& place : slices_) SliceAt(place).handle = kNoHandle;
  const bool whole = std::ranges::all_of(buckets_, &GradientBucket::delivered);
  // Handles that were waited for one by one have told their errors already.
  if (!first_error && !whole) first_error = coordinator_.ending().error();
  if (first_error) std::rethrow_exception(first_error);
}

StepReport GradientGroupImpl::WaitStep() {
  CheckEnded("WaitStep");
  AwaitBuckets();
  LeaveUnusedAlone();
  phase_ = Phase::kClosed;
  CountNonFinite();
  const StepReport report = Report();
  if (coordinator_.rank() == set_.ranks().front()) WarnOfDivergence(report);
  step_part_->End({.step = step().step,
                   .bytes_in = report.dense_bytes,
                   .bytes_out = report.wire_bytes,
                   .density = static_cast<float>(report.density)},
                  StepEndNs());
  step_part_.reset();
  ++next_step_;
  rates_before_ = previous_rates_;
  if (!report.skipped) previous_rates_ = rates_;
  planning_.End(report.step, report.skipped, buckets_, StepEndNs());
  return report;
}

void GradientGroupImpl::CountNonFinite() {
  for (std::size_t i = 0; i < spec_.tensors.size(); ++i) {
    std::uint64_t entries = 0;
    for (std::size_t p = plan_.first_partition[i]; p < plan_.first_partition[i + 1]; ++p) {
      const GradientSlice& slice = SliceAt(slices_[p]);
      entries += slice.compression->non_finite_entries() + slice.non_finite;
    }
    if (non_finite_[i] == 0 && entries > 0) {
      LogWarning(
          "gradient '{}' of '{}' has entries that are inf or NaN: they count as 0 ({} so far, "
          "first in step {}). \"skip_nonfinite\" skips such steps instead",
          spec_.tensors[i].name, spec_.name, entries, step().step);
    }
    non_finite_[i] = entries;
  }
}

StepReport GradientGroupImpl::Report() const {
  StepReport report{.step = step().step,
                    .skipped = skipped_,
                    .clip_coefficient = clip_coefficient_,
                    .density = step().density};
  if (gate_) report.gradient_norm = std::sqrt(gate_->squared_norm());
  for (const auto& bucket : buckets_) {
    const Bucket::Traffic traffic = bucket->traffic();
    if (!skipped_) report.wire_bytes += traffic.wire_bytes;
    report.dense_bytes += traffic.dense_bytes;
  }
  for (const std::uint64_t entries : non_finite_) report.non_finite_entries += entries;
  return report;
}

void GradientGroupImpl::OnGate(bool pass) {
  skipped_ = !pass;
  if (!pass || !plan_.step_settings.clip_norm) return;
  const double threshold =
      ClippingThreshold(*plan_.step_settings.clip_norm, set_.size(), GradientScaling::kLocalMean,
                        plan_.step_settings.clip_scale);
  const float coefficient = ClippingCoefficient(std::sqrt(gate_->squared_norm()), threshold);
  clip_coefficient_ = coefficient;
  for (GroupStep& step : steps_) {
    for (StepContext& context : step.contexts) context.gradient_scale *= coefficient;
  }
}

}  // namespace weir
