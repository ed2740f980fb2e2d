#pragma once

#include <cstdint>

namespace weir {

/// Totals since the start on this rank, for progress displays.
struct Summary {
  std::uint64_t sent_bytes = 0;              ///< By the transport.
  std::uint64_t received_bytes = 0;          ///< By the transport.
  std::uint64_t payload_bytes = 0;           ///< What this rank put into its exchanges.
  std::uint64_t dense_equivalent_bytes = 0;  ///< What that would have been uncompressed.
  std::uint64_t steps = 0;
  double last_step_seconds = 0;
};

}  // namespace weir
