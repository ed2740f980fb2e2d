#include "coordinator/plan/form_times.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "common/check.h"
#include "coordinator/plan/step_time.h"

namespace weir {
namespace {

constexpr double kNewest = 0.3;       // Weight of the newest value in an average.
constexpr double kLeastMoving = 0.3;  // Time of bytes that tells their rate, by that of messages.

void Average(double& average, double value, bool first) {
  average = first ? value : average + kNewest * (value - average);
}

std::size_t IndexOf(BucketForm form) { return static_cast<std::size_t>(form); }

}  // namespace

void FormTimes::Learn(const StepObservation& step) {
  WEIR_CHECK(step.buckets.size() == buckets_.size());
  for (std::size_t b = 0; b < buckets_.size(); ++b) {
    const BucketObservation& seen = step.buckets[b];
    Bucket& bucket = buckets_[b];
    bucket.ready = seen.ready;
    bucket.exchange_begin = seen.exchange_begin;
    bucket.bytes = seen.bytes;
    std::optional<Work>& work = bucket.work[IndexOf(step.plan[b])];
    const bool first = !work;
    if (first) work.emplace();
    Average(work->encode, seen.encode, first);
    Average(work->decode, seen.decode, first);
  }
  LearnRate(step);
}

void FormTimes::LearnRate(const StepObservation& step) {
  std::vector<std::pair<double, double>> exchanges;
  for (const BucketObservation& seen : step.buckets) {
    exchanges.emplace_back(seen.exchange_begin, seen.exchange_end);
  }
  std::ranges::sort(exchanges);
  double busy = 0.0, end = 0.0, messages = 0.0;
  for (const auto& [from, to] : exchanges) {
    const double alone = std::max(0.0, to - std::max(from, end));
    busy += alone;
    messages += std::min(alone, step.message_seconds);
    end = std::max(end, to);
  }
  message_seconds_ = step.message_seconds;
  const double moving = busy - messages;
  const bool is_known = moving > 0.0 && moving > kLeastMoving * messages;
  rate_ = is_known ? std::optional(BytesOf(step.plan) / moving) : std::nullopt;
}

double FormTimes::BytesOf(const StepPlan& plan) const {
  double bytes = 0.0;
  for (std::size_t b = 0; b < buckets_.size(); ++b) bytes += buckets_[b].bytes[IndexOf(plan[b])];
  return bytes;
}

std::optional<double> FormTimes::WorkOf(std::size_t bucket, BucketForm form) const {
  const auto& work = buckets_[bucket].work[IndexOf(form)];
  return work ? std::optional(work->encode + work->decode) : std::nullopt;
}

std::optional<double> FormTimes::Predict(const StepPlan& plan) const {
  if (!rate_ || *rate_ <= 0.0) return std::nullopt;
  std::vector<std::size_t> order(buckets_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t b) { return buckets_[b].exchange_begin; });
  std::vector<BucketTimes> times;
  for (const std::size_t b : order) {
    const Bucket& bucket = buckets_[b];
    const auto& work = bucket.work[IndexOf(plan[b])];
    if (!work) return std::nullopt;
    const double bytes = bucket.bytes[IndexOf(plan[b])];
    times.push_back({.ready = bucket.ready,
                     .encode = work->encode,
                     .exchange = message_seconds_ + bytes / *rate_,
                     .decode = work->decode});
  }
  return TimelineOf(times).end;
}

}  // namespace weir
