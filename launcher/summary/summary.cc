#include "launcher/summary/summary.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace weir::launcher {
namespace {

// The dashboard's thresholds are the same (monitor_gui/run/summary.cc).
constexpr double kSlow = 0.2;
constexpr double kCostly = 0.1;
// Fraction of the step from which exposed compression is examined.
constexpr double kNoticeable = 0.01;

/// Returns what a dense all-reduce among `ranks` sends for arrays of so many bytes: a
/// reduce-scatter and an all-gather, each of all parts but one.
double DenseAllreduceBytes(std::uint64_t bytes, std::size_t ranks) {
  return 2.0 * static_cast<double>(bytes) * static_cast<double>(ranks - 1) /
         static_cast<double>(ranks);
}

void FindSlowest(Summary& summary) {
  const std::vector<RankFigures>& ranks = summary.ranks;
  std::vector<double> own;
  for (const RankFigures& rank : ranks) own.push_back(rank.own_seconds());
  summary.slowest = static_cast<std::size_t>(std::ranges::max_element(own) - own.begin());
  const double most = own[summary.slowest];
  std::ranges::sort(own);
  const double median = own[(own.size() - 1) / 2];
  summary.slowest_excess = median > 0 ? most / median - 1.0 : 0.0;
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

std::string NameOf(const RankFigures& rank) {
  return fmt::format("rank {} on {}", rank.rank, rank.host);
}

void WarnOfSlowRank(Summary& summary) {
  if (summary.ranks.size() < 2 || summary.slowest_excess <= kSlow) return;
  summary.warnings.push_back(
      {"slow_rank", fmt::format("{} works {:.0f} % longer at a step than the median rank; the "
                                "others wait for it",
                                NameOf(summary.pace()), 100 * summary.slowest_excess)});
}

/// The saving is an estimate, and rather too large: the bytes not sent, at the pace of the sent
/// ones, which includes the ranks' waits for each other.
void WarnOfCompression(Summary& summary) {
  const RankFigures& pace = summary.pace();
  const RankTotals& totals = pace.totals;
  if (pace.exposed_compression_ratio() < kNoticeable || totals.sent_bytes == 0) return;
  const double dense = DenseAllreduceBytes(totals.dense_bytes, summary.job_ranks);
  const double not_sent = std::max(0.0, dense - static_cast<double>(totals.sent_bytes));
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
         fmt::format("{} waited too long for other ranks with {} tensor{}: {}{}", NameOf(rank),
                     totals.stalled_tensors, totals.stalled_tensors == 1 ? "" : "s",
                     fmt::join(totals.stalled, ", "),
                     totals.stalled.size() < totals.stalled_tensors ? ", ..." : "")});
  }
}

void WarnOfGaps(Summary& summary, const RankPlaces& places) {
  std::vector<int> silent;
  for (std::size_t rank = 0, next = 0; rank < summary.job_ranks; ++rank) {
    const bool here =
        next < summary.ranks.size() && summary.ranks[next].rank == static_cast<int>(rank);
    if (here) ++next;
    if (!here) silent.push_back(static_cast<int>(rank));
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
                                     NameOf(rank), rank.totals.lost_records)});
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

std::optional<Summary> Summarize(const std::vector<RankTotals>& totals, const RankPlaces& places) {
  Summary summary;
  summary.job_ranks = places.ranks();
  double dense = 0.0;
  for (std::size_t rank = 0; rank < places.ranks(); ++rank) {
    if (totals[rank].steps() == 0) continue;
    summary.ranks.push_back({static_cast<int>(rank), places.host(rank), totals[rank]});
    summary.sent_bytes += totals[rank].sent_bytes;
    dense += DenseAllreduceBytes(totals[rank].dense_bytes, places.ranks());
  }
  if (summary.ranks.empty()) return std::nullopt;
  summary.dense_bytes = static_cast<std::uint64_t>(dense);
  FindSlowest(summary);
  CountSamples(summary);
  WarnOfSlowRank(summary);
  WarnOfCompression(summary);
  WarnOfStalls(summary);
  WarnOfGaps(summary, places);
  return summary;
}

}  // namespace weir::launcher
