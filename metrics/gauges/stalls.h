#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace weir {

/// A tensor that some ranks have submitted and others have not.
struct StalledTensor {
  std::string name;
  int process_set = 0;
  std::int64_t since_ns = 0;  ///< CLOCK_MONOTONIC of rank 0, when the first rank submitted it.
  std::vector<int> missing;   ///< Ranks that have not submitted it.
  bool operator==(const StalledTensor&) const = default;
};

/// The stalled tensors of a job, as rank 0 knows them. A plain value.
struct Stalls {
  static constexpr std::size_t kMost = 16;

  std::vector<StalledTensor> tensors;  ///< Those that have waited longest, in that order.
  std::size_t left_out = 0;            ///< Number of further ones.
  bool operator==(const Stalls&) const = default;
};

/// Makes JSON for /stalls and the run log (docs/reference/monitoring.md) at `now_ns` of NowNs().
std::string StallsPage(const Stalls& stalls, std::int64_t now_ns);

}  // namespace weir
