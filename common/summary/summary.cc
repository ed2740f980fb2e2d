#include "common/summary/summary.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "common/summary/dense_bytes.h"

namespace weir {
namespace {

// The dashboard's thresholds are the same (monitor_gui/run/summary.cc).
constexpr double kSlow = 0.2;
constexpr double kCostly = 0.1;
// Fraction of the step from which exposed compression is examined.
constexpr double kNoticeable = 0.01;

void FindSlowest(Summary& summary) {
  const std::vector<RankFigures>& ranks = summary.ranks;
  const auto steps = [](const RankFigures& rank) { return rank.totals.steps(); };
  // Of an elastic job, the ranks that were there for long: others show a part of it only.
  const std::uint64_t most_steps = steps(*std::ranges::max_element(ranks, {}, steps));
  std::vector<double> own;
  double most = -1.0;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (summary.elastic && 2 * steps(ranks[i]) < most_steps) continue;
    own.push_back(ranks[i].own_seconds());
    if (own.back() <= most) continue;
    most = own.back();
    summary.slowest = i;
  }
  std::ranges::sort(own);
  const double median = own[(own.size() - 1) / 2];
  summary.slowest_excess = median > 0 ? most / median - 1.0 : 0.0;
}

/// Of an elastic job: ranks come and go, so their rates must not be added.
void CountSamples(Summary& summary, const ElasticTotals& elastic) {
  std::uint64_t samples = 0;
  for (const RankFigures& rank : summary.ranks) {
    if (rank.totals.samples == 0) return;
    samples += rank.totals.samples;
  }
  if (elastic.duration_ns == 0) return;
  summary.samples_per_second =
      static_cast<double>(samples) / (1e-9 * static_cast<double>(elastic.duration_ns));
}

void CountSamples(Summary& summary) {
  if (summary.ranks.size() < summary.job_ranks) return;
  double per_second = 0.0;
  for (const RankFigures& rank : summary.ranks) {
    if (rank.totals.samples == 0 || rank.totals.duration_ns == 0) return;
    per_second += static_cast<double>(rank.totals.samples) /
                  (1e-9 * static_cast<double>(rank.totals.duration_ns));
  }
  summary.samples_per_second = per_second;
}

void WarnOfSlowRank(Summary& summary) {
  if (summary.ranks.size() < 2 || summary.slowest_excess <= kSlow) return;
  summary.warnings.push_back(
      {"slow_rank", fmt::format("{} works {:.0f} % longer at a step than the median rank; the "
                                "others wait for it",
                                summary.pace().name, 100 * summary.slowest_excess)});
}

/// The saving is an estimate, and rather too large: the bytes not sent, at the pace of the sent
/// ones, which includes the ranks' waits for each other.
void WarnOfCompression(Summary& summary) {
  const RankFigures& pace = summary.pace();
  const RankTotals& totals = pace.totals;
  if (pace.exposed_compression_ratio() < kNoticeable || totals.sent_bytes == 0) return;
  const double not_sent =
      std::max(0.0, pace.dense_allreduce_bytes - static_cast<double>(totals.sent_bytes));
  const double saved_ns =
      not_sent * static_cast<double>(totals.exchange_ns) / static_cast<double>(totals.sent_bytes);
  const auto took_ns = static_cast<double>(totals.compression_ns);
  const double ms_a_step = 1e-6 / static_cast<double>(totals.steps());
  if (took_ns > saved_ns) {
    summary.warnings.push_back(
        {"compression_too_slow",
         fmt::format("compression took longer than it saved: {:.3g} ms of a step, where sending "
                     "all would have taken about {:.3g} ms more; on a network this fast, compress "
                     "less or not at all",
                     took_ns * ms_a_step, saved_ns * ms_a_step)});
  } else if (pace.exposed_compression_ratio() > kCostly) {
    summary.warnings.push_back(
        {"exposed_compression",
         fmt::format("steps wait for compression for {:.0f} % of their time, {:.3g} ms; a run that "
                     "compresses less, or not at all, tells whether that is worth it here",
                     100 * pace.exposed_compression_ratio(), took_ns * ms_a_step)});
  }
}

void WarnOfStalls(Summary& summary) {
  for (const RankFigures& rank : summary.ranks) {
    const RankTotals& totals = rank.totals;
    if (totals.stalled_tensors == 0) continue;
    summary.warnings.push_back(
        {"stalled_tensors",
         fmt::format("{} waited too long for other ranks with {} tensor{}: {}{}", rank.name,
                     totals.stalled_tensors, totals.stalled_tensors == 1 ? "" : "s",
                     fmt::join(totals.stalled, ", "),
                     totals.stalled.size() < totals.stalled_tensors ? ", ..." : "")});
  }
}

void WarnOfDivergence(Summary& summary) {
  for (const RankFigures& rank : summary.ranks) {
    for (const std::string& warning : rank.totals.divergences) {
      summary.warnings.push_back({"divergence", warning});
    }
  }
}

void WarnOfGaps(Summary& summary, const RankPlaces& places, const ElasticTotals* elastic) {
  std::vector<int> silent;
  for (std::size_t rank = 0, next = 0; rank < places.ranks(); ++rank) {
    const bool here =
        next < summary.ranks.size() && summary.ranks[next].rank == static_cast<int>(rank);
    if (here) ++next;
    const bool was_there = elastic == nullptr || elastic->took_part[rank];
    if (!here && was_there) silent.push_back(static_cast<int>(rank));
  }
  if (!silent.empty()) {
    summary.warnings.push_back(
        {"no_figures",
         fmt::format("{} did not report {} steps and {} not in these figures", places.Of(silent),
                     silent.size() == 1 ? "its" : "their", silent.size() == 1 ? "is" : "are")});
  }
  for (const RankFigures& rank : summary.ranks) {
    if (rank.totals.lost_records == 0) continue;
    summary.warnings.push_back(
        {"lost_records", fmt::format("the figures of {} lack {} records that were overwritten "
                                     "before they were read",
                                     rank.name, rank.totals.lost_records)});
  }
}

}  // namespace

double RankFigures::PerStep(std::int64_t ns) const {
  return totals.steps() == 0 ? 0.0
                             : static_cast<double>(ns) * 1e-9 / static_cast<double>(totals.steps());
}

double RankFigures::OfDuration(std::int64_t ns) const {
  return totals.duration_ns == 0
             ? 0.0
             : static_cast<double>(ns) / static_cast<double>(totals.duration_ns);
}

std::optional<Summary> Summarize(const std::vector<RankTotals>& totals, const RankPlaces& places,
                                 const ElasticTotals* elastic) {
  Summary summary;
  summary.job_ranks = elastic == nullptr ? places.ranks() : elastic->most_ranks;
  summary.elastic = elastic != nullptr;
  double dense = 0.0;
  for (std::size_t rank = 0; rank < places.ranks(); ++rank) {
    if (totals[rank].steps() == 0) continue;
    const int number = static_cast<int>(rank);
    summary.ranks.push_back({.rank = number,
                             .host = places.host(rank),
                             .name = places.Of(number),
                             .dense_allreduce_bytes =
                                 elastic == nullptr
                                     ? DenseAllreduceBytes(totals[rank].dense_bytes, places.ranks())
                                     : elastic->dense_bytes[rank],
                             .totals = totals[rank]});
    summary.sent_bytes += totals[rank].sent_bytes;
    dense += summary.ranks.back().dense_allreduce_bytes;
  }
  if (summary.ranks.empty()) return std::nullopt;
  summary.dense_bytes = static_cast<std::uint64_t>(dense);
  FindSlowest(summary);
  summary.steps = elastic == nullptr ? summary.pace().totals.steps() : elastic->steps;
  if (elastic == nullptr) {
    CountSamples(summary);
  } else {
    CountSamples(summary, *elastic);
  }
  WarnOfDivergence(summary);
  WarnOfSlowRank(summary);
  WarnOfCompression(summary);
  WarnOfStalls(summary);
  WarnOfGaps(summary, places, elastic);
  return summary;
}

}  // namespace weir
