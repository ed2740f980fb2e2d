#pragma once

#include <QString>
#include <QStringList>
#include <cstdint>
#include <optional>

#include "monitor_gui/run/moment.h"

namespace weir::monitor {

/// The few numbers that say how a run does: of the newest steps of all ranks, up to a moment.
struct Summary {
  static constexpr std::size_t kSteps = 50;

  enum class Health : std::uint8_t { kWaiting, kCutOff, kEnded, kGood, kWarning, kBad };

  int ranks = 0;
  std::int64_t step = -1;
  // Means of the slowest rank, which defines the step: the others' waiting for it says nothing
  // about the network.
  double step_seconds = 0.0;           ///< From the end of the step before.
  double exposed_communication = 0.0;  ///< As a fraction of that.
  double exposed_compression = 0.0;
  /// Of all ranks together; nothing: not all that are known say how many samples their steps take.
  std::optional<double> samples_per_second{};
  double wire_ratio = 1.0;  ///< Dense bytes over payload.
  /// Bytes that the newest states say a rank sends, the most of all; nothing before the second one.
  std::optional<double> sent_per_second{};
  /// Whose own work in a step takes longest; nothing with one rank.
  std::optional<int> slowest_rank{};
  double slowest_excess = 0.0;  ///< How much longer than the median rank's, as a fraction.
  Health health = Health::kWaiting;
  QStringList troubles{};  ///< What is wrong, one sentence each.
};

/// `now_ms`: the wall clock, for ranks that went silent: how a rank is followed is always that of
/// now.
Summary Summarise(const Run& run, std::int64_t now_ms, const Moment& at = {});

/// Until when what ranks say of themselves belongs to a moment: to the end of its step, and of the
/// run's last step to all that came behind it, since a job that stalls finishes no further one.
std::int64_t StateEnd(const Run& run, const Moment& at);

}  // namespace weir::monitor
