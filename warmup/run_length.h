#pragma once

#include <cstdint>
#include <string>

/// Density and the length of a run. Momentum and gradient of an entry reach the parameters when it
/// is sent, so the number of times it is sent counts: steps x density. The gap to dense training,
/// measured in nats with byte-level language models at 0.1 %: 0.114 where that product was 1, 0.044
/// at 3 (multi-layer perceptron, 8 ranks), 0.008 at 20 (docs/experiments/byte-lm.md). Steps of the
/// dense phase before compression do not count here. Pure functions, thread-safe.
namespace weir {

/// The density of "density=auto" in a run with so many steps: 10 / steps, where the figures above
/// put the gap near 0.015 nats. At least 0.001, enough for a long run (Lin et al., ICLR 2018), and
/// at most 0.25, above which sparse frames save little. `steps` at least 1.
double DensityForRun(std::int64_t steps);

/// Returns a warning about '`owner`' if steps x density is below 3, or nothing. Called before a run
/// of known length, and after one, with the steps that it made.
std::string ShortRunWarning(const std::string& owner, std::int64_t steps, double density);
std::string EndedShortWarning(const std::string& owner, std::int64_t steps, double density);

}  // namespace weir
