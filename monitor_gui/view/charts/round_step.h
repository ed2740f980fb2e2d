#pragma once

namespace weir::monitor {

/// Returns the largest of 1, 2, 5, 10, 20, ... and of 0.5, 0.2, ... that is not above
/// `value`, which must be positive.
double RoundStep(double value);

}  // namespace weir::monitor
