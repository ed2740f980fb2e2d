#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace weir {

/// Returns the indices of the k largest |value|, ascending: exactly k (all when k >= n), ties by
/// lower index, every position equal. NaN counts as larger than inf. Linear. Thread-safe.
std::vector<std::uint32_t> SelectTopK(std::span<const float> values, std::size_t k);

}  // namespace weir
