#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/summary/elastic_totals.h"
#include "common/summary/rank_places.h"
#include "common/supervision/rank_totals.h"

namespace weir {

/// Totals of one rank's steps, as a summary shows them. Seconds are means over its steps.
struct RankFigures {
  int rank = 0;  ///< Of an elastic job the number of the process, which is that of its output.
  std::string host{};
  std::string name{};                  ///< With its host, for people.
  double dense_allreduce_bytes = 0.0;  ///< That a dense all-reduce would have made it send.
  RankTotals totals{};

  double step_seconds() const { return PerStep(totals.duration_ns); }
  /// Time without waits for other ranks: the rank with most of it sets the pace.
  double own_seconds() const { return PerStep(totals.duration_ns - totals.communication_ns); }
  double exposed_communication_ratio() const { return OfDuration(totals.communication_ns); }
  double exposed_compression_ratio() const { return OfDuration(totals.compression_ns); }

 private:
  double PerStep(std::int64_t ns) const;
  double OfDuration(std::int64_t ns) const;
};

/// Results of a job, which weirrun prints, and writes to --summary-filename, when it has ended. The
/// slowest rank, with the most work of its own, defines the step: the others wait for it, so their
/// own waiting says nothing about the network. In an elastic job it is one of those that took at
/// least half as many steps as the one that took most.
struct Summary {
  struct Warning {
    std::string kind;  ///< One word, for programs.
    std::string text;
  };

  std::vector<RankFigures> ranks;  ///< Ranks that have taken steps.
  std::size_t job_ranks = 0;       ///< Of an elastic job the most at a time.
  bool elastic = false;
  std::uint64_t steps = 0;  ///< Of the slowest rank; of an elastic job those of all its epochs.
  std::size_t slowest = 0;  ///< Index into `ranks`.
  /// Its excess of own work over the median rank (of two, the faster one), as a fraction.
  double slowest_excess = 0.0;
  std::uint64_t sent_bytes = 0;   ///< By all ranks, for gradients.
  std::uint64_t dense_bytes = 0;  ///< Sent by a dense all-reduce instead.
  /// Over all ranks together; empty unless every rank has reported the samples of its steps.
  std::optional<double> samples_per_second{};
  std::vector<Warning> warnings{};
  /// Connections to weirrun that did not show the job's token, which weirrun has told of itself.
  std::uint64_t turned_away = 0;

  const RankFigures& pace() const { return ranks[slowest]; }
};

/// `totals` by rank of the job, without servers; of an elastic job, by process, and `elastic`.
/// Returns nothing if no rank has taken a step.
std::optional<Summary> Summarize(const std::vector<RankTotals>& totals, const RankPlaces& places,
                                 const ElasticTotals* elastic = nullptr);

/// Writes lines for people, each with its end.
std::vector<std::string> SummaryLines(const Summary& summary);

/// Writes docs/reference/summary.schema.json's format. Ends with a newline.
std::string SummaryJson(const Summary& summary, int exit_code);

}  // namespace weir
