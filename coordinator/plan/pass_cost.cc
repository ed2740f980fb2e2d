#include "coordinator/plan/pass_cost.h"

#include <algorithm>
#include <cstddef>
#include <iterator>

namespace weir {
namespace {

constexpr double kTellable = 0.05;  // Part of the pass.

PassTimes MedianOf(std::vector<PassTimes> steps) {
  const auto middle = std::next(steps.begin(), std::ssize(steps) / 2);
  PassTimes median;
  for (double PassTimes::*const part : {&PassTimes::pass, &PassTimes::beside}) {
    std::ranges::nth_element(steps, middle, {}, part);
    median.*part = (*middle).*part;
  }
  return median;
}

}  // namespace

PassTimes PassTimesOf(const StepObservation& step) {
  PassTimes times;
  for (const BucketObservation& bucket : step.buckets) {
    times.pass = std::max(times.pass, bucket.ready);
  }
  for (const BucketObservation& bucket : step.buckets) {
    times.beside += std::min(bucket.encode, times.pass - bucket.ready);
    times.beside += std::min(bucket.decode, std::max(0.0, times.pass - bucket.exchange_end));
  }
  return times;
}

std::optional<PassCost> PassCostOf(std::span<const std::vector<PassTimes>> plans) {
  std::vector<PassTimes> medians;
  for (const auto& steps : plans) {
    if (!steps.empty()) medians.push_back(MedianOf(steps));
  }
  if (medians.empty()) return std::nullopt;
  const auto [least, most] = std::ranges::minmax_element(medians, {}, &PassTimes::beside);
  const double more_work = most->beside - least->beside;
  if (more_work <= kTellable * least->pass) return std::nullopt;
  const double longer = std::max(0.0, most->pass - least->pass);
  // The work was slowed, too, by as much as it slowed the pass.
  const double alone = more_work - longer;
  return PassCost{.seconds = longer, .kappa = longer < alone ? longer / alone : 1.0};
}

}  // namespace weir
