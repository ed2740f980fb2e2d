#pragma once

#include <QString>
#include <QStringList>
#include <cstdint>
#include <optional>

#include "monitor_gui/run/moment.h"

namespace weir::monitor {

/// The key figures of a run: over the newest steps of all ranks, up to a moment.
struct Summary {
  static constexpr std::size_t kSteps = 50;
  // Thresholds for troubles.
  static constexpr double kSlow = 0.2;    ///< More own work than the median rank's.
  static constexpr double kCostly = 0.1;  ///< Part of a step, for exposed compression.

  enum class Health : std::uint8_t { kWaiting, kCutOff, kEnded, kGood, kWarning, kBad };

  int ranks = 0;
  std::int64_t step = -1;
  // Means of the slowest rank, which defines the step: the others' waits for it
  // say nothing about the network.
  double step_seconds = 0.0;           ///< From the end of the step before.
  double exposed_communication = 0.0;  ///< As a fraction of that.
  double exposed_compression = 0.0;
  /// Over all ranks together; nothing: a known rank does not report the samples of its steps.
  std::optional<double> samples_per_second{};
  double wire_ratio = 1.0;  ///< Dense bytes over payload.
  /// Largest rate of a rank, from the newest states; nothing before the second state.
  std::optional<double> sent_per_second{};
  /// The rank whose own work in a step takes longest; nothing with one rank.
  std::optional<int> slowest_rank{};
  double slowest_excess = 0.0;  ///< Its excess over the median rank's work, as a fraction.
  Health health = Health::kWaiting;
  QStringList troubles{};  ///< One sentence for each trouble.
  QStringList events{};    ///< Those of them that are not about the figures above.
};

/// `now_ms` is the wall clock, for ranks that went silent: a rank's
/// link is always its present one.
Summary Summarise(const Run& run, std::int64_t now_ms, const Moment& at = {});

/// Time until which ranks' reports belong to a moment: the end of its step. For the run's last
/// step, everything after it too, because a stalled job finishes no further step.
std::int64_t StateEnd(const Run& run, const Moment& at);

}  // namespace weir::monitor
