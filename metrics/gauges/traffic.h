#pragma once

#include <cstdint>

namespace weir {

/// Use of the network's bytes: values of the label `op`.
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
  kServing,      ///< Adding up for other ranks, and registering with servers.
  kOther,
};
inline constexpr int kTrafficOpCount = 11;

/// "allreduce", ..., "negotiation", "serving", "other".
const char* Name(TrafficOp op);

}  // namespace weir
