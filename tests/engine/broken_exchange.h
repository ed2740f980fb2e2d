#pragma once

#include <cstdint>
#include <vector>

#include "compression/state/state.h"
#include "tests/engine/training.h"

namespace weir {

/// The one tensor of a group of which one exchange breaks.
inline const Shape kBrokenShape{60, 50};
inline constexpr std::size_t kBrokenElements = 60 * 50;
/// What the place for the update has in it: no update is that large.
inline constexpr float kUntouched = 777.0f;

/// What the rank sees that receives the broken exchange: its state before and after the step.
struct BrokenExchange {
  std::vector<SavedArray> before;
  std::vector<SavedArray> after;  ///< Empty: nothing failed there.
  std::vector<float> gradient;
  std::vector<float> update;
};

/// Trains a group of these options on three ranks, until in one step its exchange number
/// `exchange`, 0 or 1 of two, breaks on the way from one rank to another.
BrokenExchange BreakExchange(std::uint32_t exchange, const Options& compression);

}  // namespace weir
