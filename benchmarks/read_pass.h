#pragma once

#include <span>

namespace weir::bench {

/// Reads every value once and does almost nothing with it: the yardstick of a pass that cannot be
/// faster than its input. Returns a number that depends on all values.
float ReadPass(std::span<const float> values);

}  // namespace weir::bench
