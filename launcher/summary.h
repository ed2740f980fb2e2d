#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/rank_totals.h"
#include "launcher/rank_places.h"

namespace weir::launcher {

/// What one rank's steps have taken, as a summary says it. Seconds are means over its steps.
struct RankFigures {
  int rank = 0;
  std::string host;
  RankTotals totals;

  double step_seconds() const { return PerStep(totals.duration_ns); }
  /// Without what it waited for others: who has most of it sets the pace.
  double own_seconds() const { return PerStep(totals.duration_ns - totals.communication_ns); }
  double exposed_communication_ratio() const { return OfDuration(totals.communication_ns); }
  double exposed_compression_ratio() const { return OfDuration(totals.compression_ns); }

 private:
  double PerStep(std::int64_t ns) const;
  double OfDuration(std::int64_t ns) const;
};

/// How a job has done: what weirrun prints, and writes to --summary-filename, when it has ended.
/// The slowest rank, that with the most work of its own, defines the step: the others wait for it,
/// so that their own waiting says nothing about the network.
struct Summary {
  struct Warning {
    std::string kind;  ///< One word, for programs.
    std::string text;
  };

  std::vector<RankFigures> ranks;  ///< Of those that have taken steps.
  std::size_t job_ranks = 0;
  std::size_t slowest = 0;  ///< Of `ranks`.
  /// How much more own work it has than the median rank (of two, the faster one), as a fraction.
  double slowest_excess = 0.0;
  std::uint64_t sent_bytes = 0;   ///< By all ranks, for gradients.
  std::uint64_t dense_bytes = 0;  ///< That a dense all-reduce would have sent.
  /// Of all ranks together; nothing: not every rank has said how many its steps take.
  std::optional<double> samples_per_second{};
  std::vector<Warning> warnings{};

  const RankFigures& pace() const { return ranks[slowest]; }
};

/// `totals` by rank of the job, servers left out. None where no rank has taken a step.
std::optional<Summary> Summarize(const std::vector<RankTotals>& totals, const RankPlaces& places);

/// Lines for people, each with its end.
std::vector<std::string> SummaryLines(const Summary& summary);

/// docs/reference/summary.schema.json. Ends with a line's end.
std::string SummaryJson(const Summary& summary, int exit_code);

}  // namespace weir::launcher
