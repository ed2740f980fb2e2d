#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "compression/random/counter_random.h"

namespace weir {

/// Draws k different indices below n, ascending. Each set is equally likely (R. Floyd's algorithm,
/// in Bentley, "Programming pearls: a sample of brilliance", 1987). The same for the same generator
/// and step on every machine. k <= n < 2^32. Thread-safe.
std::vector<std::uint32_t> RandomIndices(const CounterRandom& random, std::int64_t step,
                                         std::size_t n, std::size_t k);

}  // namespace weir
