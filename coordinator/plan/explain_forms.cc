#include "coordinator/plan/explain_forms.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <ranges>
#include <utility>

#include "common/check.h"
#include "common/text/seconds_text.h"

namespace weir {
namespace {

constexpr double kWorthSaying = 0.02;  // Part of a step.
constexpr double kMuchOfStep = 0.3;
constexpr int kFewRanks = 2;  // Servers save nothing among them.

std::string NameIn(BucketForm form, const std::string& compressor) {
  if (form == BucketForm::kCompressed) return compressor;
  const std::string name(Name(form));
  return form < BucketForm::kCompressed ? compressor + ", " + name : name;
}

std::string Rate(double bytes_per_second) {
  const double bits = bytes_per_second * 8.0;
  return bits < 1e9 ? fmt::format("{:.3g} Mb/s", bits / 1e6)
                    : fmt::format("{:.3g} Gb/s", bits / 1e9);
}

const FormTuner::Tried* Find(const FormTuner& tuner, BucketForm form) {
  const auto& tried = tuner.tried();
  const auto found = std::ranges::find_if(tried, [form](const FormTuner::Tried& one) {
    return std::ranges::all_of(one.plan, [form](BucketForm of) { return of == form; });
  });
  return found == tried.end() ? nullptr : &*found;
}

/// Work of all buckets in a form; empty if some was not seen in it.
std::optional<double> WorkOf(const FormTuner& tuner, BucketForm form) {
  double sum = 0.0;
  for (std::size_t b = 0; b < tuner.plan().size(); ++b) {
    const auto work = tuner.times().WorkOf(b, form);
    if (!work) return std::nullopt;
    sum += *work;
  }
  return sum;
}

std::optional<PassCost> PassCostOf(const FormTuner& tuner) {
  std::vector<std::vector<PassTimes>> plans;
  for (const FormTuner::Tried& one : tuner.tried()) plans.push_back(one.passes);
  return weir::PassCostOf(plans);
}

/// Says what the user may allow, where that would be faster than all that was.
std::string Hint(const FormTuner& tuner, const PlanWords& words) {
  const bool compressed = std::ranges::all_of(
      tuner.plan(), [](BucketForm form) { return form <= BucketForm::kCompressed; });
  const auto chosen = std::ranges::find(tuner.tried(), tuner.plan(), &FormTuner::Tried::plan);
  const bool may_be_served = std::ranges::any_of(tuner.allowed(), [](const auto& forms) {
    return std::ranges::find(forms, BucketForm::kServed) != forms.end();
  });
  if (words.compressor != "dgc" || !compressed || may_be_served || words.ranks <= kFewRanks ||
      chosen == tuner.tried().end()) {
    return "";
  }
  const StepPlan gathered(tuner.plan().size(), BucketForm::kCompressed);
  const double sending = tuner.times().NetworkSecondsOf(gathered);
  const double part = sending / chosen->median();
  if (part < kMuchOfStep) return "";
  return fmt::format(
      "; sending takes {:.0f} % of the step: push_pull, if it was among the choices, would send "
      "{:.0f} % of that, and compress the sum once more",
      100.0 * std::min(part, 1.0), 200.0 / words.ranks);
}

std::string Sentence(const FormTuner& tuner, const PlanWords& words,
                     const std::optional<PassCost>& cost) {
  std::string text = words.Of(tuner.plan());
  const auto& network = tuner.times().network();
  if (network) text += fmt::format(": the network carries {}", Rate(network->bytes_per_second));
  const auto compress = WorkOf(tuner, BucketForm::kCompressed);
  if (compress && words.compressor != Name(BucketForm::kDense)) {
    text += fmt::format(", {} works {} a step", words.compressor, SecondsText(*compress));
  }
  const FormTuner::Tried* const dense = Find(tuner, BucketForm::kDense);
  const FormTuner::Tried* const compressed = Find(tuner, BucketForm::kCompressed);
  if (network && dense != nullptr && compressed != nullptr) {
    const double saved = tuner.times().NetworkSecondsOf(dense->plan) -
                         tuner.times().NetworkSecondsOf(compressed->plan);
    text += fmt::format(" and saves {} of sending", SecondsText(saved));
  }
  if (cost && cost->seconds >= kWorthSaying * tuner.tried().front().median()) {
    text +=
        fmt::format("; the backward pass takes {} longer beside it", SecondsText(cost->seconds));
  }
  return text + Hint(tuner, words);
}

PlanExplanation::Considered Explain(const FormTuner::Tried& one, const FormTuner& tuner,
                                    const PlanWords& words) {
  PlanExplanation::Considered considered{.what = words.Of(one.plan),
                                         .chosen = one.plan == tuner.plan(),
                                         .predicted_seconds = tuner.times().Predict(one.plan),
                                         .steps = one.seconds.size()};
  if (tuner.times().network()) {
    considered.bytes_seconds = tuner.times().NetworkSecondsOf(one.plan);
  }
  if (one.seconds.empty()) {
    considered.not_tried = one.why_not;
  } else {
    considered.measured_seconds = one.median();
  }
  return considered;
}

}  // namespace

std::string PlanWords::Of(const StepPlan& plan) const {
  std::string text;
  for (const BucketForm form : std::views::reverse(kBucketForms)) {
    const auto count = std::ranges::count(plan, form);
    if (count == 0) continue;
    if (count == std::ssize(plan)) return NameIn(form, compressor);
    text += fmt::format("{}{} ({}{})", text.empty() ? "" : ", ", NameIn(form, compressor), count,
                        text.empty() ? (count == 1 ? " bucket" : " buckets") : "");
  }
  return text;
}

std::vector<PlanExplanation::Bucket> PlanWords::BucketsOf(const StepPlan& plan) const {
  WEIR_CHECK(plan.size() == buckets.size());
  std::vector<PlanExplanation::Bucket> named;
  for (std::size_t b = 0; b < plan.size(); ++b) {
    named.push_back({.name = buckets[b].name, .form = NameIn(plan[b], buckets[b].compressor)});
  }
  return named;
}

PlanExplanation ExplainForms(const FormTuner& tuner, const PlanWords& words) {
  PlanExplanation plan{.by = PlanExplanation::By::kMeasurement,
                       .settled = tuner.settled(),
                       .what = words.Of(tuner.plan()),
                       .buckets = words.BucketsOf(tuner.plan())};
  const std::optional<PassCost> cost = PassCostOf(tuner);
  plan.why = plan.settled ? Sentence(tuner, words, cost) : "tries " + plan.what;
  if (const auto& network = tuner.times().network()) {
    plan.network_bytes_per_second = network->bytes_per_second;
    plan.network_seconds_per_message = network->seconds_per_message;
  }
  if (plan.settled && cost) plan.kappa = cost->kappa;
  for (std::size_t b = 0; b < plan.buckets.size(); ++b) {
    for (const BucketForm form : tuner.allowed()[b]) {
      plan.buckets[b].work.push_back({.form = NameIn(form, words.buckets[b].compressor),
                                      .seconds = tuner.times().WorkOf(b, form)});
    }
  }
  if (!plan.settled) return plan;
  for (const FormTuner::Tried& one : tuner.tried()) {
    plan.considered.push_back(Explain(one, tuner, words));
  }
  return plan;
}

}  // namespace weir
