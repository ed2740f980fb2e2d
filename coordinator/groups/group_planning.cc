#include "coordinator/groups/group_planning.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "common/clock.h"
#include "common/log.h"
#include "weir/error.h"

namespace weir {
namespace {

bool HasAlternatives(const GroupPlan& plan) {
  return std::ranges::any_of(plan.variants,
                             [](const Variant& variant) { return !variant.alternatives.empty(); });
}

using By = PlanExplanation::By;
constexpr char kAsFileSays[] = "as WEIR_PLAN_FILENAME says";
constexpr char kProbes[] = "?";  // Behind the forms: measure the network after the step.

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
      now_(plan.plan.buckets.size(), BucketForm::kCompressed),
      probe_(coordinator, set, spec.name) {
  if (plans_) Prepare();
  if (coordinator_.rank() != 0 || !coordinator_.autotune_log().wanted()) return;
  samples_.emplace(coordinator_.autotune_log(), name_, SampleSteps(coordinator_.settings()));
}

void GroupPlanning::Prepare() {
  if (!HasAlternatives(plan_)) {
    return Note(0, By::kOptions, now_,
                Words().compressor + ", as told (compression=auto would choose)");
  }
  told_plan_ = now_;
  if (coordinator_.rank() == 0) {
    pinned_ = coordinator_.plan_file().PinnedOf(name_, set_.size());
  }
  for (const PlannedForms& pinned : pinned_) {
    try {
      Parse(pinned.forms);
    } catch (const InvalidArgument& error) {
      throw InvalidArgument("WEIR_PLAN_FILENAME '" + coordinator_.settings().plan_filename +
                            "' does not suit '" + spec_.name + "' from step " +
                            std::to_string(pinned.from_step) + " on: " + error.what());
    }
  }
  if (!pinned_.empty()) return Note(0, By::kFile, now_, kAsFileSays);
  std::vector<std::vector<BucketForm>> allowed;
  for (std::size_t b = 0; b < now_.size(); ++b) allowed.push_back(AllowedForms(b));
  if (std::ranges::all_of(allowed, [](const auto& forms) { return forms.size() == 1; })) {
    const bool on_gpu = std::ranges::any_of(
        plan_.compressors, [](const auto& compressor) { return compressor == nullptr; });
    return Note(0, By::kOptions, now_,
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

bool GroupPlanning::IsAllowed(std::size_t bucket, BucketForm form) const {
  if (form == BucketForm::kCompressed) return true;
  const Variant& variant = plan_.variants[plan_.VariantOfBucket(bucket)];
  if (std::ranges::find(variant.alternatives, form) == variant.alternatives.end()) return false;
  if (form == BucketForm::kDense && !variant.remembers) return true;
  const bool by_route = form < BucketForm::kCompressed;
  if (by_route && set_.size() <= 2) return false;  // Each has half of all anyway.
  if (form == BucketForm::kServed && coordinator_.settings().servers > 0) return false;
  const auto may = [this, form](std::uint32_t partition) {
    const auto& compressor = plan_.compressors[partition];
    if (compressor == nullptr) return false;  // Kernels on a GPU have its memory.
    return form == BucketForm::kSplit ? compressor->entry_values().has_value()
                                      : compressor->drains();
  };
  return std::ranges::all_of(plan_.plan.buckets[bucket].tensors, may);
}

std::vector<BucketForm> GroupPlanning::AllowedForms(std::size_t bucket) const {
  std::vector<BucketForm> forms;
  for (const BucketForm form : kBucketForms) {
    if (IsAllowed(bucket, form)) forms.push_back(form);
  }
  // A compressor that leaves gradients as they are changes least of all.
  if (plan_.variants[plan_.VariantOfBucket(bucket)].plain) {
    std::erase(forms, BucketForm::kCompressed);
    forms.push_back(BucketForm::kCompressed);
  }
  return forms;
}

StepPlan GroupPlanning::Parse(const std::string& forms) const {
  StepPlan plan = ParseForms(forms, now_.size());
  for (std::size_t b = 0; b < plan.size(); ++b) {
    if (IsAllowed(b, plan[b])) continue;
    throw InvalidArgument("a plan of '" + spec_.name + "' has the form " +
                          std::string(Name(plan[b])) + " for its bucket '" + plan_.NameOfBucket(b) +
                          "', whose options do not have it among their \"alternatives\"");
  }
  return plan;
}

void GroupPlanning::Begin(std::int64_t step, bool empty) {
  // All ranks have agreed on buckets of the step before meanwhile, and heard of the plan first.
  if (told_ != kNoHandle) coordinator_.WaitIfKnown(std::exchange(told_, kNoHandle));
  const std::lock_guard lock(mutex_);
  for (const Next& next : next_) {
    if (next.from_step > step) break;
    now_ = next.plan;
    // The others measure with zeros in the place of what this rank would send.
    probes_ = probes_ || (next.probes && !empty);
  }
  if (!empty) DropPast(step);
}

void GroupPlanning::EndEmpty(std::int64_t step) {
  const std::lock_guard lock(mutex_);
  // This rank has not measured with the others.
  if (DropPast(step)) probing_ = false;
}

bool GroupPlanning::DropPast(std::int64_t step) {
  bool probes = false;
  for (; !next_.empty() && next_.front().from_step <= step; next_.pop_front()) {
    probes = probes || next_.front().probes;
  }
  return probes;
}

void GroupPlanning::PlanNext(std::int64_t step) {
  if (first_step_ < 0) first_step_ = step;
  if (step == first_step_) return;
  const PlannedForms* pinned = nullptr;
  for (const PlannedForms& one : pinned_) {
    if (one.from_step <= step + 1) pinned = &one;
  }
  if (pinned != nullptr && pinned->forms != FormsText(told_plan_)) {
    const StepPlan plan = Parse(pinned->forms);
    Tell(step + 1, plan);
    return Note(step + 1, By::kFile, plan, kAsFileSays);
  }
  if (!tuner_) return;
  const bool probes = tuner_->wants_network() && !probing_;
  if (probes || tuner_->plan() != told_plan_) Tell(step + 1, tuner_->plan(), probes);
}

void GroupPlanning::End(std::int64_t step, bool skipped,
                        std::span<const std::unique_ptr<GradientBucket>> buckets,
                        std::int64_t end_ns) {
  // Now, while the program computes, the network has nothing else to do.
  if (std::exchange(probes_, false)) probe_.Start();
  if (!tuner_ && !samples_) return;
  if (const auto network = probe_.Take()) {
    tuner_->SetNetwork(*network);
    probing_ = false;
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
  StepObservation seen{.plan = now_, .seconds = since_begin(end_ns), .buckets = {}};
  for (const auto& bucket : buckets) {
    const GradientBucket::RunTimes& times = bucket->times();
    seen.buckets.push_back({.ready = since_begin(times.ready_ns),
                            .encode = SecondsOf(times.encode_ns),
                            .exchange_begin = since_begin(times.exchange_begin_ns),
                            .exchange_end = since_begin(times.exchange_end_ns),
                            .decode = SecondsOf(times.decode_ns),
                            .bytes = bucket->BytesByForm()});
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
  for (std::size_t b = 0; b < now_.size(); ++b) {
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

void GroupPlanning::Tell(std::int64_t from_step, const StepPlan& plan, bool probes) {
  Submission submission;
  submission.request = {.kind = RequestKind::kPlan,
                        .name = StepRequestName(RequestKind::kPlan, spec_.name),
                        .settings = {{Request::kStep, std::to_string(from_step)},
                                     {Request::kForms, FormsText(plan) + (probes ? kProbes : "")}},
                        .slots = 0};
  told_ = coordinator_.Submit(set_, std::move(submission));
  probing_ = probing_ || probes;
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

void GroupPlanning::OnPlanned(std::int64_t from_step, const std::string& forms) {
  const std::lock_guard lock(mutex_);
  try {
    const bool probes = forms.ends_with(kProbes);
    next_.emplace_back(from_step, Parse(probes ? forms.substr(0, forms.size() - 1) : forms),
                       probes);
  } catch (const InvalidArgument& error) {
    throw Corrupt(error.what(), {spec_.name, {}, "negotiate"});
  }
}

void GroupPlanning::OnLoaded() {
  const std::lock_guard lock(mutex_);
  for (Next& next : next_) next.from_step = 0;
}

std::string GroupPlanning::AllowedText() const {
  if (!HasAlternatives(plan_)) return {};
  std::string text;
  for (std::size_t b = 0; b < now_.size(); ++b) {
    text += (text.empty() ? "" : " ") + FormsText(AllowedForms(b));
  }
  return text;
}

}  // namespace weir
