#include "metrics/steps/exposed_time.h"

#include <algorithm>

namespace weir {
namespace {

// Bounds the memory of a program that never ends a step; one step has far fewer.
constexpr std::size_t kMaxIntervals = 1 << 16;

template <typename T>
void Append(std::vector<T>& values, T value) {
  if (values.size() >= kMaxIntervals) values.clear();
  values.push_back(value);
}

void DropUntil(std::vector<Interval>& intervals, std::int64_t time_ns) {
  std::erase_if(intervals, [&](const Interval& i) { return i.end_ns <= time_ns; });
}

}  // namespace

std::int64_t CoveredNs(std::vector<Interval> intervals, Interval window) {
  std::ranges::sort(intervals, {}, &Interval::start_ns);
  std::int64_t covered = 0;
  std::int64_t reached = window.start_ns;
  for (const Interval& interval : intervals) {
    const std::int64_t start = std::max(interval.start_ns, reached);
    const std::int64_t end = std::min(interval.end_ns, window.end_ns);
    if (end <= start) continue;
    covered += end - start;
    reached = end;
  }
  return covered;
}

void ExposedTime::Add(const StageRecord& record, bool compressed) {
  const Interval interval{record.start_ns, record.end_ns};
  switch (record.stage) {
    case Stage::kQueue:
      Append(submissions_, record.end_ns);
      break;
    case Stage::kNegotiate:
    case Stage::kExchange:
      Append(communication_, interval);
      break;
    case Stage::kPack:
    case Stage::kCompress:
    case Stage::kMerge:
    case Stage::kUnpack:
      Append(compressed ? compression_ : communication_, interval);
      break;
    case Stage::kStep:
    case Stage::kRound:
    case Stage::kGradient:
    case Stage::kResidual:
      break;
  }
}

Exposed ExposedTime::EndStep(const StageRecord& step) {
  std::int64_t last_submission = -1;
  for (const std::int64_t time : submissions_) {
    if (time >= step.start_ns && time <= step.end_ns) {
      last_submission = std::max(last_submission, time);
    }
  }
  Exposed exposed;
  if (last_submission >= 0) {
    const Interval tail{last_submission, step.end_ns};
    std::vector<Interval> either = communication_;
    either.insert(either.end(), compression_.begin(), compression_.end());
    exposed.communication_ns = CoveredNs(communication_, tail);
    exposed.compression_ns = CoveredNs(std::move(either), tail) - exposed.communication_ns;
  }
  DropUntil(communication_, step.end_ns);
  DropUntil(compression_, step.end_ns);
  std::erase_if(submissions_, [&](std::int64_t time) { return time <= step.end_ns; });
  return exposed;
}

}  // namespace weir
