#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace weir {

/// A tensor that ranks wait with for others, which have not submitted it.
struct StalledTensor {
  std::string name;
  int process_set = 0;
  std::int64_t since_ns = 0;  ///< CLOCK_MONOTONIC of rank 0, when the first rank had it.
  std::vector<int> missing;   ///< The ranks that have not submitted it.
  bool operator==(const StalledTensor&) const = default;
};

/// What is stalled in a job, as rank 0 knows it. A plain value.
struct Stalls {
  static constexpr std::size_t kMost = 16;

  std::vector<StalledTensor> tensors;  ///< Those that have waited longest, these first.
  std::size_t left_out = 0;            ///< How many more there are.
  bool operator==(const Stalls&) const = default;
};

/// As JSON, for /stalls and the run log (docs/reference/monitoring.md). `now_ns`: CLOCK_MONOTONIC.
std::string StallsPage(const Stalls& stalls, std::int64_t now_ns);

}  // namespace weir
