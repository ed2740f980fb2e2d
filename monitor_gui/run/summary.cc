#include "monitor_gui/run/summary.h"

#include <QObject>
#include <algorithm>
#include <optional>
#include <span>
#include <vector>

#include "monitor_gui/run/stalls.h"

namespace weir::monitor {
namespace {

constexpr std::int64_t kSilentMs = 5000;
// Thresholds for warnings.
constexpr double kStuckSeconds = 10;  // Without a step, and this many times longer than one takes.
constexpr double kStuckSteps = 20;

struct OfRank {
  int rank;
  std::int64_t step;  ///< Its newest.
  MeanTimes times;
};

std::optional<double> SentPerSecond(std::span<const StateRow> states) {
  if (states.size() < 2) return std::nullopt;
  const StateRow& now = states.back();
  const StateRow& before = states[states.size() - std::min<std::size_t>(states.size(), 5)];
  const double seconds = static_cast<double>(now.time_ns - before.time_ns) * 1e-9;
  if (seconds <= 0) return std::nullopt;
  return static_cast<double>(now.sent_bytes - before.sent_bytes) / seconds;
}

/// Samples that all ranks take in a step, over the known ranks; 0: one of them does not report.
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
  if (ranks.empty()) return;
  // A rank that has joined, or is lost, reports the past.
  const std::int64_t newest = std::ranges::max(ranks, {}, &OfRank::step).step;
  std::erase_if(ranks, [&](const OfRank& rank) {
    return rank.step <= newest - static_cast<std::int64_t>(Summary::kSteps);
  });
  const auto own = [](const OfRank& rank) { return rank.times.own(); };
  std::ranges::sort(ranks, {}, own);
  const MeanTimes& pace = ranks.back().times;
  summary.step_seconds = pace.step;
  if (pace.step > 0) {
    summary.exposed_communication = pace.communication / pace.step;
    summary.exposed_compression = pace.compression / pace.step;
  }
  if (ranks.size() < 2) return;
  const double median = own(ranks[(ranks.size() - 1) / 2]);
  summary.slowest_rank = ranks.back().rank;
  summary.slowest_excess = median > 0 ? pace.own() / median - 1.0 : 0.0;
}

/// Describes the stalls that rank 0 has found; else, how many tensors wait.
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

/// Seconds from the end of the newest step to the newest sign of life.
double SecondsWithoutStep(const Run& run) {
  std::int64_t end_ns = 0;
  for (const auto& [rank, known] : run.ranks()) {
    if (!known.steps().empty()) end_ns = std::max(end_ns, known.steps().back().end_ns);
  }
  return end_ns == 0 ? 0.0 : static_cast<double>(run.newest_ns() - end_ns) * 1e-9;
}

/// Health of a run with steps and without troubles.
Summary::Health HealthAt(const Run& run, const Moment& at) {
  if (StateEnd(run, at) != run.newest_ns()) return Summary::Health::kGood;
  if (run.HasEnded()) return Summary::Health::kEnded;
  return run.AllAre(RankLink::State::kRecorded) ? Summary::Health::kCutOff : Summary::Health::kGood;
}

/// Names missing ranks of an incomplete recording.
QStringList MissingRanks(const Run& run, int ranks) {
  QStringList missing;
  const bool is_recorded = run.AllAre(RankLink::State::kRecorded);
  for (int rank = 0; is_recorded && rank < ranks; ++rank) {
    if (!run.ranks().contains(rank)) missing += QString::number(rank);
  }
  return missing;
}

void Warn(const QString& of, Summary& summary) {
  summary.troubles += of;
  summary.health = std::max(summary.health, Summary::Health::kWarning);
}

/// Returns the message of the rank that failed first, until then; empty: none did. Others report
/// much the same, each in its own words.
QString FirstFailure(const Run& run, std::int64_t until_ns) {
  int first = 0;
  const RankEnd* its = nullptr;
  for (const auto& [rank, known] : run.ranks()) {
    const auto& end = known.end();
    if (!end || end->failure.isEmpty() || end->time_ns > until_ns) continue;
    if (its != nullptr && its->time_ns <= end->time_ns) continue;
    its = &*end;
    first = rank;
  }
  if (its == nullptr) return {};
  return QObject::tr("the job has failed, as rank %1 says: %2").arg(first).arg(its->failure);
}

void FindTroubles(const Run& run, std::int64_t now_ms, const Moment& at, Summary& summary) {
  using State = RankLink::State;
  if (const QString failure = FirstFailure(run, StateEnd(run, at)); !failure.isEmpty()) {
    summary.troubles += failure;
    summary.health = Summary::Health::kBad;
  }
  for (const auto& [rank, link] : run.links()) {
    if (run.HasEnded(rank)) continue;  // It is not expected to answer.
    if (link.state == State::kLost) {
      summary.troubles += QObject::tr("rank %1 is lost: %2").arg(rank).arg(link.detail);
      summary.health = Summary::Health::kBad;
    } else if (link.state == State::kLive && now_ms - link.heard_ms > kSilentMs) {
      Warn(QObject::tr("rank %1 has been silent for %2 s")
               .arg(rank)
               .arg((now_ms - link.heard_ms) / 1000),
           summary);
    }
  }
  if (const QStringList missing = MissingRanks(run, summary.ranks); !missing.isEmpty()) {
    Warn((missing.size() == 1 ? QObject::tr("rank %1 is missing here")
                              : QObject::tr("ranks %1 are missing here"))
             .arg(missing.join(", ")),
         summary);
  }
  const QStringList stalled = StalledSentences(run, at);
  for (const QString& sentence : stalled) Warn(sentence, summary);
  const double without_step = SecondsWithoutStep(run);
  const double stuck = std::max(kStuckSeconds, kStuckSteps * summary.step_seconds);
  if (stalled.isEmpty() && at.is_newest() && !run.HasEnded() && without_step > stuck)
    Warn(QObject::tr("no step has ended for %1 s").arg(without_step, 0, 'f', 0), summary);
  summary.events = summary.troubles;
  if (summary.exposed_compression > Summary::kCostly) {
    Warn(QObject::tr("steps wait for compression for %1 % of their time")
             .arg(qRound(summary.exposed_compression * 100)),
         summary);
  }
  if (summary.slowest_excess > Summary::kSlow) {
    Warn(QObject::tr("rank %1 works %2 % longer at a step than the median rank")
             .arg(*summary.slowest_rank)
             .arg(qRound(summary.slowest_excess * 100)),
         summary);
  }
}

}  // namespace

std::int64_t StateEnd(const Run& run, const Moment& at) {
  const bool is_last = at.is_newest() || at.step >= StepsOf(run).last;
  return is_last ? run.newest_ns() : at.end_ns;
}

Summary Summarise(const Run& run, std::int64_t now_ms, const Moment& at) {
  Summary summary;
  double payload = 0;
  double dense = 0;
  std::vector<OfRank> stepping;
  for (const auto& [rank, known] : run.ranks()) {
    summary.ranks = std::max({summary.ranks, known.size(), rank + 1});
    summary.sent_per_second =
        std::max(summary.sent_per_second, SentPerSecond(known.StatesUntil(at.end_ns)));
    const auto steps = known.StepsUntil(at.step, Summary::kSteps);
    if (steps.empty()) continue;
    summary.step = std::max(summary.step, steps.back().step);
    stepping.push_back({rank, steps.back().step, MeanTimesOf(steps)});
    for (const StepRow& step : steps) {
      payload += step.count * static_cast<double>(step.payload_bytes);
      dense += step.count * static_cast<double>(step.dense_bytes);
    }
  }
  if (!stepping.empty()) summary.health = HealthAt(run, at);
  FindSlowest(std::move(stepping), summary);
  if (payload > 0) summary.wire_ratio = dense / payload;
  const double samples = SamplesPerStep(run, summary.ranks);
  if (samples > 0 && summary.step_seconds > 0) {
    summary.samples_per_second = samples / summary.step_seconds;
  }
  FindTroubles(run, now_ms, at, summary);
  return summary;
}

}  // namespace weir::monitor
