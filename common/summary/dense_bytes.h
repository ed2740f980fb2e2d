#pragma once

#include <cstddef>
#include <cstdint>

namespace weir {

/// Returns what a dense all-reduce among `ranks` makes each of them send for arrays of so many
/// bytes: a reduce-scatter and an all-gather, each of all parts but one.
inline double DenseAllreduceBytes(std::uint64_t bytes, std::size_t ranks) {
  return 2.0 * static_cast<double>(bytes) * static_cast<double>(ranks - 1) /
         static_cast<double>(ranks);
}

}  // namespace weir
