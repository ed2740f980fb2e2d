#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace weir {

/// Entries to keep of n at a density: round(density * n), at least 1, at most n.
std::size_t CountAtDensity(std::size_t n, double density);

/// The indices of the k largest |value|, ascending: exactly k (all when k >= n), ties by lower
/// index, every position equal. NaN counts as larger than inf. Two reads of the values, then exact
/// work on those near the k-th; linear on average. Thread-safe.
std::vector<std::uint32_t> SelectTopK(std::span<const float> values, std::size_t k);

}  // namespace weir
