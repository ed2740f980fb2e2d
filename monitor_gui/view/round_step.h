#pragma once

namespace weir::monitor {

/// The largest of 1, 2, 5, 10, 20, ... and of 0.5, 0.2, ... that is not above `value`, which is
/// positive.
double RoundStep(double value);

}  // namespace weir::monitor
