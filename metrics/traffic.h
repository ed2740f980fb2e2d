#pragma once

#include <cstdint>
#include <string_view>

namespace weir {

/// What the bytes of the network are for: values of the label `op`. What exchanges are called is
/// RouteInfo::op.
enum class TrafficOp : std::uint8_t {
  kAllreduce,
  kAllgather,
  kBroadcast,
  kAlltoall,
  kReducescatter,
  kSparseAllreduce,
  kBarrier,
  kPushPull,
  kNegotiation,  ///< Agreeing on exchanges, and comparing clocks at the start.
  kServing,      ///< Adding up for other ranks, and telling servers what there is.
  kOther,
};
inline constexpr int kTrafficOpCount = 11;

/// "allreduce", ..., "negotiation", "serving", "other".
const char* Name(TrafficOp op);
/// kOther for a name that no operation has.
TrafficOp TrafficOpOf(std::string_view name);

}  // namespace weir
