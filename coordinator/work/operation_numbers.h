#pragma once

#include <cstdint>

namespace weir {

/// Numbers of collective operations (Tag::operation). The three messages of a round, those that
/// compare clocks at the start, and those that ask who is heard have fixed numbers. Exchanges count
/// up from kFirstExchange in the order in which they were agreed on, and wrap around long after the
/// window of those under way. Those of buckets that overtake others have a range of their own.
inline constexpr std::uint32_t kRoundOperation = 0;
inline constexpr std::uint32_t kRequestsOperation = 1;
inline constexpr std::uint32_t kResponsesOperation = 2;
inline constexpr std::uint32_t kClockOperation = 3;
inline constexpr std::uint32_t kProbeOperation = 4;
inline constexpr std::uint32_t kFirstExchange = 5;
inline constexpr std::uint32_t kExchangeNumbers = 512;
inline constexpr std::uint32_t kFirstOvertaking = kFirstExchange + kExchangeNumbers;
inline constexpr std::uint32_t kOvertakingNumbers = 256;

}  // namespace weir
