#pragma once

#include <QString>
#include <cstdint>
#include <vector>

#include "monitor_gui/run/summary.h"

namespace weir::monitor {

/// Something that a person can do about a run, or should know.
struct Advice {
  enum class Weight : std::uint8_t { kGood, kHint, kWarning, kBad };
  Weight weight = Weight::kHint;
  QString text{};
  QString page{};  ///< Name of the page that shows more (--page); empty: none.

  bool operator==(const Advice&) const = default;
};

/// Returns what to do about a run at a moment, the most important first; never empty once there is
/// a step. `summary` is of the same moment.
std::vector<Advice> AdviceOf(const Run& run, const Summary& summary, const Moment& at);

}  // namespace weir::monitor
