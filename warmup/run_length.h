#pragma once

#include <cstdint>
#include <string>

/// What a run's length says about density. Momentum and gradient of an entry reach the parameters
/// when it is sent, so what counts is how often that is: steps x density. The gap to dense
/// training, measured in nats with byte-level language models at 0.1 %: 0.114 where that product
/// was 1, 0.044 at 3 (multi-layer perceptron, 8 ranks), 0.008 at 20 (docs/experiments/byte-lm.md).
/// Steps of the dense phase before compression do not count here. Pure functions, thread-safe.
namespace weir {

/// What "density=auto" stands for in a run with so many steps: 10 / steps, where the figures above
/// put the gap near 0.015 nats. At least 0.001, which a long run bears (Lin et al., ICLR 2018), and
/// at most 0.25, above which sparse frames save little. `steps` at least 1.
double DensityForRun(std::int64_t steps);

/// What a user should hear about '`owner`' where steps x density is below 3, or nothing: before a
/// run of known length, and after one, of the steps that it made.
std::string ShortRunWarning(const std::string& owner, std::int64_t steps, double density);
std::string EndedShortWarning(const std::string& owner, std::int64_t steps, double density);

}  // namespace weir
