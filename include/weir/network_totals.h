#pragma once

#include <cstdint>

namespace weir {

/// What a rank's transport has carried since it was made: everything, negotiation included, but not
/// the headers that the network itself adds.
struct NetworkTotals {
  std::uint64_t sent_bytes = 0;
  std::uint64_t received_bytes = 0;
  std::uint64_t sent_messages = 0;
  std::uint64_t received_messages = 0;
  /// Of sent_bytes, what went into agreeing on exchanges, and at the start into comparing clocks;
  /// the rest is what exchanges carried. An engine knows it, a transport alone does not.
  std::uint64_t negotiation_bytes = 0;

  friend bool operator==(const NetworkTotals&, const NetworkTotals&) = default;
};

}  // namespace weir
