#include "monitor_gui/run/summary.h"

#include <QObject>
#include <algorithm>
#include <span>
#include <vector>

#include "monitor_gui/run/stalls.h"

namespace weir::monitor {
namespace {

constexpr std::int64_t kSilentMs = 5000;
// Worth a word.
constexpr double kSlow = 0.2;    // More own work than the median.
constexpr double kCostly = 0.1;  // Of a step, for compression that nothing hides.

struct OfRank {
  int rank;
  double own_seconds;  ///< A step without what it waited for others.
};

/// From end to end where there are two steps, else from start to end.
double StepSeconds(std::span<const StepRow> steps) {
  if (steps.size() < 2) {
    return static_cast<double>(steps.back().duration_ns()) * 1e-9 /
           static_cast<double>(steps.back().count);
  }
  return static_cast<double>(steps.back().end_ns - steps.front().end_ns) * 1e-9 /
         static_cast<double>(CountOf(steps.subspan(1)));
}

double SentPerSecond(std::span<const StateRow> states) {
  if (states.size() < 2) return 0.0;
  const StateRow& now = states.back();
  const StateRow& before = states[states.size() - std::min<std::size_t>(states.size(), 5)];
  const double seconds = static_cast<double>(now.time_ns - before.time_ns) * 1e-9;
  return seconds > 0 ? static_cast<double>(now.sent_bytes - before.sent_bytes) / seconds : 0.0;
}

/// Samples that all ranks take in a step, by those that are known; 0: one of them does not say.
double SamplesPerStep(const Run& run, int ranks) {
  double samples = 0.0;
  for (const auto& [rank, known] : run.ranks()) {
    const int batch = known.setting("WEIR_BATCH_SIZE").toInt();
    if (batch <= 0) return 0.0;
    samples += batch;
  }
  return samples * ranks / static_cast<double>(std::max<std::size_t>(run.ranks().size(), 1));
}

void FindSlowest(std::vector<OfRank> ranks, Summary& summary) {
  if (ranks.size() < 2) return;
  std::ranges::sort(ranks, {}, &OfRank::own_seconds);
  const double median = ranks[(ranks.size() - 1) / 2].own_seconds;
  summary.slowest_rank = ranks.back().rank;
  summary.slowest_excess = median > 0 ? ranks.back().own_seconds / median - 1.0 : 0.0;
}

/// Who misses what, where rank 0 has found that out; how many tensors wait, where not (yet).
QStringList StalledSentences(const Run& run, const Moment& at) {
  const std::int64_t end_ns = StateEnd(run, at);
  QStringList named = SentencesOf(StallsAt(run, end_ns), end_ns);
  if (!named.isEmpty()) return named;
  QStringList counted;
  for (const auto& [rank, known] : run.ranks()) {
    const auto states = known.StatesUntil(end_ns);
    const auto tensors = states.empty() ? 0 : states.back().stalled_tensors;
    if (tensors == 0) continue;
    counted +=
        (tensors == 1 ? QObject::tr("rank %1 waits with %2 tensor that others have not submitted")
                      : QObject::tr("rank %1 waits with %2 tensors that others have not submitted"))
            .arg(rank)
            .arg(tensors);
  }
  return counted;
}

void FindTroubles(const Run& run, std::int64_t now_ms, const Moment& at, Summary& summary) {
  using State = RankLink::State;
  for (const auto& [rank, link] : run.links()) {
    if (link.state == State::kLost) {
      summary.troubles += QObject::tr("rank %1 is lost: %2").arg(rank).arg(link.detail);
      summary.health = Summary::Health::kBad;
    } else if (link.state == State::kLive && now_ms - link.heard_ms > kSilentMs) {
      summary.troubles += QObject::tr("rank %1 has been silent for %2 s")
                              .arg(rank)
                              .arg((now_ms - link.heard_ms) / 1000);
      summary.health = std::max(summary.health, Summary::Health::kWarning);
    }
  }
  const QStringList stalled = StalledSentences(run, at);
  if (!stalled.isEmpty()) {
    summary.troubles += stalled;
    summary.health = std::max(summary.health, Summary::Health::kWarning);
  }
  if (summary.exposed_compression > kCostly) {
    summary.troubles += QObject::tr("steps wait for compression for %1 % of their time")
                            .arg(qRound(summary.exposed_compression * 100));
    summary.health = std::max(summary.health, Summary::Health::kWarning);
  }
  if (summary.slowest_excess > kSlow) {
    summary.troubles += QObject::tr("rank %1 works %2 % longer at a step than the median rank")
                            .arg(*summary.slowest_rank)
                            .arg(qRound(summary.slowest_excess * 100));
    summary.health = std::max(summary.health, Summary::Health::kWarning);
  }
}

}  // namespace

std::int64_t StateEnd(const Run& run, const Moment& at) {
  const bool is_last = at.is_newest() || at.step >= StepsOf(run).last;
  return is_last ? run.newest_ns() : at.end_ns;
}

Summary Summarise(const Run& run, std::int64_t now_ms, const Moment& at) {
  Summary summary;
  std::int64_t time = 0;
  std::int64_t communication = 0;
  std::int64_t compression = 0;
  double payload = 0;
  double dense = 0;
  std::vector<OfRank> own;
  for (const auto& [rank, known] : run.ranks()) {
    summary.ranks = std::max({summary.ranks, known.size(), rank + 1});
    summary.sent_per_second =
        std::max(summary.sent_per_second, SentPerSecond(known.StatesUntil(at.end_ns)));
    const auto steps = known.StepsUntil(at.step, Summary::kSteps);
    if (steps.empty()) continue;
    summary.step = std::max(summary.step, steps.back().step);
    summary.step_seconds = std::max(summary.step_seconds, StepSeconds(steps));
    std::int64_t own_ns = 0;
    for (const StepRow& step : steps) {
      time += step.duration_ns();
      communication += step.exposed_communication_ns;
      compression += step.exposed_compression_ns;
      payload += step.count * static_cast<double>(step.payload_bytes);
      dense += step.count * static_cast<double>(step.dense_bytes);
      own_ns += step.duration_ns() - step.exposed_communication_ns;
    }
    own.push_back({rank, static_cast<double>(own_ns) * 1e-9 / static_cast<double>(CountOf(steps))});
  }
  if (time > 0) {
    summary.health = Summary::Health::kGood;
    summary.exposed_communication = static_cast<double>(communication) / static_cast<double>(time);
    summary.exposed_compression = static_cast<double>(compression) / static_cast<double>(time);
  }
  if (payload > 0) summary.wire_ratio = dense / payload;
  const double samples = SamplesPerStep(run, summary.ranks);
  if (samples > 0 && summary.step_seconds > 0) {
    summary.samples_per_second = samples / summary.step_seconds;
  }
  FindSlowest(std::move(own), summary);
  FindTroubles(run, now_ms, at, summary);
  return summary;
}

}  // namespace weir::monitor
