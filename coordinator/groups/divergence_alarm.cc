#include "coordinator/groups/divergence_alarm.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace weir {
namespace {

constexpr int kSkippedSteps = 20;
constexpr double kLowestScale = 1.0;
constexpr int kWindow = 40;      // Steps whose mean counts: single thresholds are noisy.
constexpr int kGrowing = 5;      // Windows, each above the one before.
constexpr double kGrowth = 1.5;  // In all of them.

}  // namespace

std::string DivergenceAlarm::After(const Step& step) {
  std::string text = AfterSkipped(step.skipped);
  if (text.empty()) text = AfterScale(step.loss_scale);
  if (text.empty() && !step.skipped) text = AfterThreshold(step.density, step.threshold);
  return text;
}

std::string DivergenceAlarm::AfterSkipped(bool skipped) {
  skipped_ = skipped ? skipped_ + 1 : 0;
  if (skipped_ < kSkippedSteps || std::exchange(told_of_skips_, true)) return {};
  return fmt::format(
      "the last {} steps of '{}' were skipped, as gradients were inf or NaN: the training has "
      "diverged, or its data has such numbers. Go back to a checkpoint, with a lower learning rate "
      "or clip_norm",
      kSkippedSteps, group_);
}

std::string DivergenceAlarm::AfterScale(double scale) {
  largest_scale_ = std::max(largest_scale_, scale);
  const bool fell = scale < kLowestScale && largest_scale_ >= kLowestScale;
  if (!fell || std::exchange(told_of_scale_, true)) return {};
  return fmt::format(
      "the loss scale of '{}' has fallen to {:.3g}, from {:.3g}: gradients overflow at any scale, "
      "as they do when a training diverges. Go back to a checkpoint, with a lower learning rate or "
      "clip_norm",
      group_, scale, largest_scale_);
}

std::string DivergenceAlarm::AfterThreshold(double density, double threshold) {
  at_density_ = density == density_ ? at_density_ + 1 : 0;
  density_ = density;
  if (threshold <= 0.0 || static_cast<double>(at_density_) * density < 1.0) {
    window_steps_ = 0;
    window_sum_ = 0.0;
    windows_.clear();
    return {};
  }
  window_sum_ += threshold;
  if (++window_steps_ < kWindow) return {};
  windows_.push_back(std::exchange(window_sum_, 0.0) / std::exchange(window_steps_, 0));
  if (windows_.size() <= kGrowing) return {};
  const bool grows =
      std::ranges::is_sorted(windows_) && windows_.back() > kGrowth * windows_.front();
  const double growth = windows_.back() / windows_.front();
  windows_.pop_front();
  if (!grows || std::exchange(told_of_growth_, true)) return {};
  return fmt::format(
      "what '{}' keeps back has grown for {} steps, {:.2g}-fold, although entries have had their "
      "turn at density {:.2g}: the training probably diverges. Lower the learning rate, make "
      "warmup_steps longer, give clip_norm, or a higher density",
      group_, kGrowing * kWindow, growth, density);
}

double MeanThreshold(std::span<const std::unique_ptr<GradientBucket>> buckets) {
  double logarithms = 0.0;
  int count = 0;
  for (const auto& bucket : buckets) {
    for (const GradientSlice& slice : bucket->gradients().all()) {
      const float threshold = slice.compression->threshold();
      if (!(threshold > 0.0f)) continue;
      logarithms += std::log(static_cast<double>(threshold));
      ++count;
    }
  }
  return count == 0 ? 0.0 : std::exp(logarithms / count);
}

}  // namespace weir
