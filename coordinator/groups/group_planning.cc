#include "coordinator/groups/group_planning.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "common/clock.h"
#include "common/log.h"
#include "weir/error.h"

namespace weir {
namespace {

using By = PlanExplanation::By;
constexpr char kAsFileSays[] = "as WEIR_PLAN_FILENAME says";

std::string CompressorName(const Variant& variant) {
  return variant.plain ? "dense" : variant.options.compressor();
}

double SecondsOf(std::int64_t ns) { return static_cast<double>(ns) * 1e-9; }

std::size_t SampleSteps(const Settings& settings) {
  return static_cast<std::size_t>(settings.autotune_steps_per_sample);
}

SearchEffort EffortOf(const Settings& settings) {
  if (!settings.autotune) return {};
  const auto warmup = static_cast<std::size_t>(settings.autotune_warmup_samples);
  return {.warmup_steps = warmup * SampleSteps(settings),
          .first_steps = SampleSteps(settings),
          .most_tries = static_cast<std::size_t>(settings.autotune_most_samples)};
}

}  // namespace

GroupPlanning::GroupPlanning(Coordinator& coordinator, ProcessSet& set,
                             const GradientGroupSpec& spec, const GroupPlan& plan)
    : coordinator_(coordinator),
      set_(set),
      spec_(spec),
      plan_(plan),
      plans_(coordinator.rank() == set.ranks().front()),
      name_(spec.name + set.Suffix()),
      allowed_(plan, coordinator.settings(), set.size()),
      agreed_(spec.name, allowed_, plan.layout.buckets.size()),
      told_plan_(agreed_.now()),
      probe_(coordinator, set, spec.name) {
  if (plans_) Prepare();
  if (coordinator_.rank() != 0 || !coordinator_.autotune_log().wanted()) return;
  samples_.emplace(coordinator_.autotune_log(), name_, SampleSteps(coordinator_.settings()));
}

void GroupPlanning::ReadFile() {
  if (coordinator_.rank() != 0) return;
  pinned_ = coordinator_.plan_file().PinnedOf(name_, set_.size());
  for (const PlannedForms& pinned : pinned_) {
    try {
      allowed_.Parse(pinned.forms);
    } catch (const InvalidArgument& error) {
      throw InvalidArgument("WEIR_PLAN_FILENAME '" + coordinator_.settings().plan_filename +
                            "' does not suit '" + spec_.name + "' from step " +
                            std::to_string(pinned.from_step) + " on: " + error.what());
    }
  }
}

std::vector<std::pair<std::string, std::string>> GroupPlanning::ToAgreeOn() const {
  if (!allowed_.any()) return {};
  std::vector<std::pair<std::string, std::string>> values = {
      {"forms that buckets may take", allowed_.Text()}};
  // No other rank has it: the registration fails everywhere.
  if (unsuited_) values.emplace_back("file of plans", unsuited_->what());
  return values;
}

void GroupPlanning::ThrowIfUnsuited() const {
  if (unsuited_) throw InvalidArgument(*unsuited_);
}

void GroupPlanning::Prepare() {
  if (!allowed_.any()) {
    return Note(0, By::kOptions, told_plan_,
                Words().compressor + ", as told (compression=auto would choose)");
  }
  try {
    ReadFile();
  } catch (const InvalidArgument& error) {
    unsuited_ = error;
    return;
  }
  if (!pinned_.empty()) return Note(0, By::kFile, told_plan_, kAsFileSays);
  std::vector<std::vector<BucketForm>> allowed;
  for (std::size_t b = 0; b < told_plan_.size(); ++b) allowed.push_back(allowed_.Of(b));
  if (std::ranges::all_of(allowed, [](const auto& forms) { return forms.size() == 1; })) {
    const bool on_gpu = std::ranges::any_of(
        plan_.compressors, [](const auto& compressor) { return compressor == nullptr; });
    return Note(0, By::kOptions, told_plan_,
                Words().compressor + ", as nothing else is possible" +
                    (on_gpu ? ": its memory is on a GPU" : ""));
  }
  tuner_ = std::make_unique<FormTuner>(std::move(allowed), EffortOf(coordinator_.settings()));
  Note(0, ExplainForms(*tuner_, Words()));
}

GroupPlanning::~GroupPlanning() {
  // In a child of a fork a lock may be held for ever.
  if (plans_ && !coordinator_.ending().forked()) coordinator_.gauges().plans.Forget(name_);
}

void GroupPlanning::Begin(std::int64_t step, bool empty) {
  // All ranks have agreed on buckets of the step before meanwhile, and heard of the plan first.
  if (told_ != kNoHandle) coordinator_.WaitIfKnown(std::exchange(told_, kNoHandle));
  agreed_.Begin(step, empty);
}

void GroupPlanning::EndEmpty(std::int64_t step) {
  // This rank has not measured with the others.
  if (agreed_.EndEmpty(step)) measuring_ = false;
}

const PlannedForms* GroupPlanning::PinnedFor(std::int64_t step) const {
  const PlannedForms* found = nullptr;
  for (const PlannedForms& one : pinned_) {
    if (one.from_step <= step) found = &one;
  }
  return found;
}

void GroupPlanning::TellPinned(std::int64_t step) {
  const PlannedForms* const pinned = PinnedFor(step);
  if (pinned == nullptr || pinned->forms == FormsText(told_plan_)) return;
  const StepPlan plan = allowed_.Parse(pinned->forms);
  Tell(step, plan);
  Note(step, By::kFile, plan, kAsFileSays);
}

void GroupPlanning::PlanNext(std::int64_t step) {
  if (first_step_ < 0) first_step_ = step;
  if (step == first_step_) return;
  TellPinned(step + 1);
  if (!tuner_) return;
  const bool measures = tuner_->wants_network() && !measuring_;
  if (measures || tuner_->plan() != told_plan_) Tell(step + 1, tuner_->plan(), measures);
}

void GroupPlanning::BeforeJoin(std::int64_t next_step) {
  probe_.Await();
  if (!tuner_ || tuner_->settled()) return;
  tuner_->EndSearch();
  // The others may be in that step already, and wait for this rank.
  if (tuner_->plan() != told_plan_) Tell(next_step + 1, tuner_->plan());
}

void GroupPlanning::BeforeLoading(std::int64_t step) { TellPinned(step); }

void GroupPlanning::OnLoaded(std::int64_t step) {
  agreed_.OnLoaded();
  if (tuner_) WriteDown(step, told_plan_);
}

void GroupPlanning::End(std::int64_t step, bool skipped,
                        std::span<const std::unique_ptr<GradientBucket>> buckets,
                        std::int64_t end_ns) {
  // Now, while the program computes, the network has nothing else to do.
  if (agreed_.TakeMeasures()) probe_.Start();
  if (!tuner_ && !samples_) return;
  if (const auto network = probe_.Take()) {
    tuner_->SetNetwork(*network);
    measuring_ = false;
  }
  const bool dense_phase = std::ranges::any_of(
      plan_.variants, [step](const Variant& variant) { return variant.schedule.DensePhase(step); });
  if (dense_phase || skipped) return;
  Observe(buckets, end_ns);
  if (!tuner_ || !tuner_->settled() || tuner_->searches() == explained_) return;
  explained_ = tuner_->searches();
  WriteDown(step + 2, tuner_->plan());
  Note(step + 2, ExplainForms(*tuner_, Words()));
}

void GroupPlanning::Observe(std::span<const std::unique_ptr<GradientBucket>> buckets,
                            std::int64_t end_ns) {
  std::int64_t begin_ns = end_ns;
  for (const auto& bucket : buckets) begin_ns = std::min(begin_ns, bucket->first_ns.load());
  const auto since_begin = [begin_ns](std::int64_t ns) { return SecondsOf(ns - begin_ns); };
  StepObservation seen{.plan = agreed_.now(), .seconds = since_begin(end_ns), .buckets = {}};
  for (std::size_t b = 0; b < buckets.size(); ++b) {
    const auto& bucket = buckets[b];
    RouteSettings route = plan_.variants[plan_.VariantOfBucket(b)].route;
    route.dedicated_servers = coordinator_.settings().servers > 0;
    const GradientBucket::RunTimes& times = bucket->times();
    seen.buckets.push_back({.ready = since_begin(times.ready_ns),
                            .encode = SecondsOf(times.encode_ns),
                            .exchange_begin = since_begin(times.exchange_begin_ns),
                            .exchange_end = since_begin(times.exchange_end_ns),
                            .decode = SecondsOf(times.decode_ns),
                            .bytes = bucket->BytesByForm(route)});
  }
  if (tuner_) tuner_->Observe(seen);
  if (!samples_) return;
  double dense_bytes = 0.0;
  for (const auto& bucket : buckets) dense_bytes += static_cast<double>(bucket->dense_bytes());
  samples_->Observe(seen.plan, seen.seconds, dense_bytes, !tuner_ || tuner_->settled());
}

PlanWords GroupPlanning::Words() const {
  const auto with_alternatives = std::ranges::find_if(
      plan_.variants, [](const Variant& variant) { return !variant.alternatives.empty(); });
  PlanWords words{.compressor = CompressorName(with_alternatives == plan_.variants.end()
                                                   ? plan_.variants.front()
                                                   : *with_alternatives),
                  .ranks = set_.size(),
                  .buckets = {}};
  for (std::size_t b = 0; b < agreed_.now().size(); ++b) {
    words.buckets.push_back(
        {.name = plan_.NameOfBucket(b),
         .compressor = CompressorName(plan_.variants[plan_.VariantOfBucket(b)])});
  }
  return words;
}

void GroupPlanning::Note(std::int64_t from_step, By by, const StepPlan& plan,
                         const std::string& why) {
  const PlanWords words = Words();
  Note(from_step, {.by = by, .what = words.Of(plan), .why = why, .buckets = words.BucketsOf(plan)});
}

void GroupPlanning::Note(std::int64_t from_step, PlanExplanation plan) {
  plan.group = name_;
  plan.time_ns = NowNs();
  plan.from_step = from_step;
  const std::string lines = PlanText(plan);
  const bool settled = plan.settled;
  coordinator_.gauges().plans.Note(std::move(plan));
  if (!settled) return;
  if (coordinator_.settings().explain) {
    std::fputs(("weir: " + name_ + ": " + lines + "\n").c_str(), stderr);
  } else {
    LogInfo("{}: {}", name_, lines);
  }
}

void GroupPlanning::Tell(std::int64_t from_step, const StepPlan& plan, bool measures) {
  Submission submission;
  submission.request = {
      .kind = RequestKind::kPlan,
      .name = StepRequestName(RequestKind::kPlan, spec_.name),
      .settings = {{Request::kStep, std::to_string(from_step)}, {Request::kForms, FormsText(plan)}},
      .slots = 0};
  if (measures) submission.request.settings.emplace_back(Request::kMeasures, "");
  if (told_ != kNoHandle) coordinator_.WaitIfKnown(std::exchange(told_, kNoHandle));
  told_ = coordinator_.Submit(set_, std::move(submission));
  measuring_ = measuring_ || measures;
  if (plan == told_plan_) return;
  told_plan_ = plan;
  if (!tuner_) return;
  WriteDown(from_step, plan);
  // What is chosen was noted when the search ended.
  if (!tuner_->settled()) Note(from_step, ExplainForms(*tuner_, Words()));
}

void GroupPlanning::WriteDown(std::int64_t from_step, const StepPlan& plan) {
  // Other sets' first ranks plan as well, and would write over it.
  if (coordinator_.rank() != 0) return;
  coordinator_.plan_file().Add(name_, {.from_step = from_step,
                                       .forms = FormsText(plan),
                                       .ranks = set_.size(),
                                       .settled = tuner_->settled()});
}

}  // namespace weir
