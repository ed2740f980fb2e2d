#include "coordinator/plan/form_times.h"

#include <algorithm>
#include <numeric>

#include "common/check.h"

namespace weir {
namespace {

constexpr double kNewest = 0.3;  // Weight of the newest value in an average.

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
  order_.resize(buckets_.size());
  std::iota(order_.begin(), order_.end(), std::size_t{0});
  std::ranges::stable_sort(order_, {}, [&](std::size_t b) { return buckets_[b].exchange_begin; });
}

double FormTimes::BytesOf(const StepPlan& plan) const {
  double bytes = 0.0;
  for (std::size_t b = 0; b < buckets_.size(); ++b) bytes += buckets_[b].bytes[IndexOf(plan[b])];
  return bytes;
}

double FormTimes::NetworkSecondsOf(const StepPlan& plan) const {
  return network_ ? BytesOf(plan) / network_->bytes_per_second : 0.0;
}

double FormTimes::DecodeSecondsOf(const StepPlan& plan) const {
  double seconds = 0.0;
  for (std::size_t b = 0; b < buckets_.size(); ++b) {
    const auto& work = buckets_[b].work[IndexOf(plan[b])];
    if (work) seconds += work->decode;
  }
  return seconds;
}

std::optional<double> FormTimes::WorkOf(std::size_t bucket, BucketForm form) const {
  const auto& work = buckets_[bucket].work[IndexOf(form)];
  return work ? std::optional(work->encode + work->decode) : std::nullopt;
}

std::optional<double> FormTimes::Predict(const StepPlan& plan) const {
  if (!network_) return std::nullopt;
  std::vector<BucketTimes> times;
  times.reserve(buckets_.size());
  for (const std::size_t b : order_) {
    const Bucket& bucket = buckets_[b];
    const auto& work = bucket.work[IndexOf(plan[b])];
    if (!work) return std::nullopt;
    const double bytes = bucket.bytes[IndexOf(plan[b])];
    times.push_back({.ready = bucket.ready,
                     .encode = work->encode,
                     .exchange = network_->seconds_per_message + bytes / network_->bytes_per_second,
                     .decode = work->decode});
  }
  return TimelineOf(times).end;
}

}  // namespace weir
