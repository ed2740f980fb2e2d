#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace weir {

/// What an elastic job has done in its epochs, the ranks of which differ.
struct ElasticTotals {
  std::uint64_t steps = 0;       ///< Each epoch's are those of the rank that has reported most.
  std::int64_t duration_ns = 0;  ///< Of these steps.
  std::size_t most_ranks = 0;    ///< In an epoch.
  // By process.
  std::vector<bool> took_part{};      ///< In an epoch.
  std::vector<double> dense_bytes{};  ///< That a dense all-reduce would have made it send.
};

}  // namespace weir
