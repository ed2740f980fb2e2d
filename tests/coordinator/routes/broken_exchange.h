#pragma once

#include <cstdint>
#include <vector>

#include "compression/state/state.h"
#include "tests/coordinator/jobs/training.h"

namespace weir {

/// The single tensor of a group with a broken exchange.
inline const Shape kBrokenShape{60, 50};
inline constexpr std::size_t kBrokenElements = 60 * 50;
/// Content of an update's place before the step: no update is that large.
inline constexpr float kUntouched = 777.0f;

/// State of the rank that receives the broken exchange, before and after the step.
struct BrokenExchange {
  std::vector<SavedArray> before;
  std::vector<SavedArray> after;  ///< Empty: nothing failed there.
  std::vector<float> gradient;
  std::vector<float> update;
};

/// Trains a group with these options on three ranks, until in one step its exchange number
/// `exchange`, 0 or 1 of two, breaks on the way from one rank to another.
BrokenExchange BreakExchange(std::uint32_t exchange, const Options& compression);

}  // namespace weir
