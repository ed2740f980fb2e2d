#pragma once

#include <cstdint>

namespace weir {

/// Traffic of a rank's transport since it was made, negotiation included. Headers that the network
/// itself adds are not counted.
struct NetworkTotals {
  std::uint64_t sent_bytes = 0;
  std::uint64_t received_bytes = 0;
  std::uint64_t sent_messages = 0;
  std::uint64_t received_messages = 0;
  /// The part of sent_bytes that agreed on exchanges and, at the start, compared clocks. The
  /// exchanges sent the rest. Only an engine knows it; a transport alone does not.
  std::uint64_t negotiation_bytes = 0;

  friend bool operator==(const NetworkTotals&, const NetworkTotals&) = default;
};

}  // namespace weir
