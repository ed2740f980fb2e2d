#include "coordinator/plan/explain_forms.h"

#include <fmt/core.h>

#include <algorithm>

#include "common/check.h"

namespace weir {
namespace {

struct Words {
  const std::string& compressor;

  std::string Of(BucketForm form) const {
    return form == BucketForm::kCompressed ? compressor : std::string(Name(form));
  }
  /// "dense", or "dense (5 buckets), dgc (3)".
  std::string Of(const StepPlan& plan) const {
    std::string text;
    for (const BucketForm form : {BucketForm::kDense, BucketForm::kFp16, BucketForm::kCompressed}) {
      const auto count = std::ranges::count(plan, form);
      if (count == 0) continue;
      if (count == std::ssize(plan)) return Of(form);
      text += fmt::format("{}{} ({}{})", text.empty() ? "" : ", ", Of(form), count,
                          text.empty() ? (count == 1 ? " bucket" : " buckets") : "");
    }
    return text;
  }
};

std::string Time(double seconds) {
  return seconds < 1.0 ? fmt::format("{:.3g} ms", seconds * 1e3) : fmt::format("{:.3g} s", seconds);
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
std::optional<double> WorkOf(const FormTuner& tuner, std::size_t buckets, BucketForm form) {
  double sum = 0.0;
  for (std::size_t b = 0; b < buckets; ++b) {
    const auto work = tuner.times().WorkOf(b, form);
    if (!work) return std::nullopt;
    sum += *work;
  }
  return sum;
}

std::string Sentence(const FormTuner& tuner, std::size_t buckets, const Words& words) {
  std::string text = words.Of(tuner.plan());
  const auto& network = tuner.times().network();
  if (network) text += fmt::format(": the network carries {}", Rate(network->bytes_per_second));
  const auto compress = WorkOf(tuner, buckets, BucketForm::kCompressed);
  if (compress) {
    text += fmt::format(", {} works {} a step", words.compressor, Time(*compress));
  }
  const FormTuner::Tried* const dense = Find(tuner, BucketForm::kDense);
  const FormTuner::Tried* const compressed = Find(tuner, BucketForm::kCompressed);
  if (network && dense != nullptr && compressed != nullptr) {
    const double saved = tuner.times().NetworkSecondsOf(dense->plan) -
                         tuner.times().NetworkSecondsOf(compressed->plan);
    text += fmt::format(" and saves {} of sending", Time(saved));
  }
  return text;
}

}  // namespace

std::string ExplainForms(const FormTuner& tuner, std::span<const std::string> buckets,
                         const std::string& compressor) {
  WEIR_CHECK(tuner.settled());
  const Words words{compressor};
  std::string text = Sentence(tuner, buckets.size(), words);
  for (const FormTuner::Tried& one : tuner.tried()) {
    const std::string chosen = one.plan == tuner.plan() ? ", chosen" : "";
    text += "\n  " + words.Of(one.plan) + ": ";
    if (one.seconds.empty()) {
      text += fmt::format("not tried, as its bytes alone would take about {}",
                          Time(one.predicted.value_or(0.0)));
    } else {
      text +=
          fmt::format("{} a step (median of {}){}", Time(one.median()), one.seconds.size(), chosen);
    }
  }
  for (std::size_t b = 0; b < buckets.size(); ++b) {
    text += fmt::format("\n  {}: {};", buckets[b], words.Of(tuner.plan()[b]));
    for (const BucketForm form : {BucketForm::kDense, BucketForm::kFp16, BucketForm::kCompressed}) {
      const auto work = tuner.times().WorkOf(b, form);
      if (work) text += fmt::format(" {} works {}", words.Of(form), Time(*work));
    }
  }
  return text;
}

}  // namespace weir
