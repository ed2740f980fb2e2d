#include "metrics/gauges/plans.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "common/text/seconds_text.h"
#include "metrics/files/json_text.h"

namespace weir {
namespace {

using Json = nlohmann::ordered_json;

const char* Name(PlanExplanation::By by) {
  switch (by) {
    case PlanExplanation::By::kOptions:
      return "options";
    case PlanExplanation::By::kFile:
      return "file";
    case PlanExplanation::By::kMeasurement:
      break;
  }
  return "measurement";
}

const char* Name(PlanExplanation::WhyNot why) {
  switch (why) {
    case PlanExplanation::WhyNot::kBytes:
      return "bytes";
    case PlanExplanation::WhyNot::kSeenBefore:
      return "seen_before";
    case PlanExplanation::WhyNot::kEnoughTried:
      break;
  }
  return "enough_tried";
}

Json OrNull(const std::optional<double>& value) { return value ? Json(*value) : Json(); }

Json BucketsOf(const PlanExplanation& plan) {
  Json buckets = Json::array();
  for (const PlanExplanation::Bucket& bucket : plan.buckets) {
    Json work = Json::object();
    for (const PlanExplanation::Work& of : bucket.work) work[of.form] = OrNull(of.seconds);
    buckets.push_back(
        {{"name", bucket.name}, {"form", bucket.form}, {"work_seconds", std::move(work)}});
  }
  return buckets;
}

Json ConsideredOf(const PlanExplanation& plan) {
  Json considered = Json::array();
  for (const PlanExplanation::Considered& one : plan.considered) {
    considered.push_back({{"what", one.what},
                          {"chosen", one.chosen},
                          {"bytes_seconds", OrNull(one.bytes_seconds)},
                          {"predicted_seconds", OrNull(one.predicted_seconds)},
                          {"measured_seconds", OrNull(one.measured_seconds)},
                          {"not_tried", one.not_tried ? Json(Name(*one.not_tried)) : Json()},
                          {"steps", one.steps}});
  }
  return considered;
}

std::string WhyNotText(const PlanExplanation::Considered& one) {
  using WhyNot = PlanExplanation::WhyNot;
  if (one.not_tried == WhyNot::kBytes && one.bytes_seconds) {
    return ", as its bytes alone would take about " + SecondsText(*one.bytes_seconds);
  }
  if (one.not_tried == WhyNot::kSeenBefore && one.predicted_seconds) {
    return fmt::format(", as its step would take about {}, by what was seen before",
                       SecondsText(*one.predicted_seconds));
  }
  return one.not_tried == WhyNot::kEnoughTried ? ", as enough others were" : "";
}

std::string LineOf(const PlanExplanation::Considered& one) {
  if (!one.measured_seconds) {
    return fmt::format("{}: not tried{}", one.what, WhyNotText(one));
  }
  return fmt::format("{}: {} a step (median of {}){}", one.what, SecondsText(*one.measured_seconds),
                     one.steps, one.chosen ? ", chosen" : "");
}

}  // namespace

std::string PlanText(const PlanExplanation& plan) {
  std::string text = fmt::format("since step {}, {}", plan.from_step, plan.why);
  for (const PlanExplanation::Considered& one : plan.considered) text += "\n  " + LineOf(one);
  if (plan.considered.empty()) return text;
  for (const PlanExplanation::Bucket& bucket : plan.buckets) {
    text += fmt::format("\n  {}: {};", bucket.name, bucket.form);
    for (const PlanExplanation::Work& of : bucket.work) {
      if (of.seconds) text += fmt::format(" {} works {}", of.form, SecondsText(*of.seconds));
    }
  }
  return text;
}

std::string PlanBlock(const PlanExplanation& plan) {
  return JsonText({{"time_ns", plan.time_ns},
                   {"group", plan.group},
                   {"from_step", plan.from_step},
                   {"by", Name(plan.by)},
                   {"settled", plan.settled},
                   {"what", plan.what},
                   {"why", plan.why},
                   {"network_bytes_per_second", OrNull(plan.network_bytes_per_second)},
                   {"network_seconds_per_message", OrNull(plan.network_seconds_per_message)},
                   {"kappa", OrNull(plan.kappa)},
                   {"considered", ConsideredOf(plan)},
                   {"buckets", BucketsOf(plan)}});
}

namespace {

constexpr std::size_t kMostNameBytes = 200;  // All choices have to fit into a rank's totals.

std::int64_t Nanoseconds(double seconds) { return static_cast<std::int64_t>(seconds * 1e9); }

FormChoice ChoiceOf(const PlanExplanation& plan) {
  FormChoice choice{.group = plan.group.substr(0, kMostNameBytes), .forms = plan.what};
  for (const PlanExplanation::Considered& one : plan.considered) {
    if (one.chosen) choice.step_ns = Nanoseconds(one.measured_seconds.value_or(0.0));
    if (one.what != "dense") continue;
    choice.dense_was_tried = one.measured_seconds.has_value();
    const bool by_bytes = one.not_tried == PlanExplanation::WhyNot::kBytes;
    const auto& seconds = by_bytes ? one.bytes_seconds : one.measured_seconds;
    choice.dense_step_ns = Nanoseconds(seconds.value_or(0.0));
  }
  return choice;
}

}  // namespace

void PlanNotes::Note(PlanExplanation plan) {
  const auto noted = std::make_shared<const PlanExplanation>(std::move(plan));
  const std::lock_guard lock(mutex_);
  if (noted->settled) texts_[noted->group] = PlanText(*noted);
  if (noted->settled && noted->by == PlanExplanation::By::kMeasurement &&
      (choices_.size() < kMostChoices || choices_.contains(noted->group))) {
    choices_[noted->group] = ChoiceOf(*noted);
  }
  newest_.push_back(noted);
  if (newest_.size() > kMost) newest_.pop_front();
  ++count_;
}

void PlanNotes::Forget(const std::string& group) {
  const std::lock_guard lock(mutex_);
  texts_.erase(group);
}

std::string PlanNotes::Text() const {
  const std::lock_guard lock(mutex_);
  std::string text;
  for (const auto& [group, lines] : texts_) text += group + ": " + lines + "\n";
  return text;
}

std::vector<FormChoice> PlanNotes::Choices() const {
  const std::lock_guard lock(mutex_);
  std::vector<FormChoice> choices;
  for (const auto& [group, choice] : choices_) choices.push_back(choice);
  return choices;
}

std::vector<std::shared_ptr<const PlanExplanation>> PlanNotes::After(std::uint64_t& number) const {
  const std::lock_guard lock(mutex_);
  const std::uint64_t wanted = std::min<std::uint64_t>(
      count_ - std::min(std::exchange(number, count_), count_), newest_.size());
  return {newest_.end() - static_cast<std::ptrdiff_t>(wanted), newest_.end()};
}

}  // namespace weir
