#include "metrics/gauges/traffic.h"

#include <array>
#include <cstddef>

#include "common/check.h"

namespace weir {
namespace {

constexpr std::array<const char*, kTrafficOpCount> kNames = {
    "allreduce", "allgather", "broadcast",   "alltoall", "reducescatter", "sparse_allreduce",
    "barrier",   "push_pull", "negotiation", "serving",  "other"};

}  // namespace

const char* Name(TrafficOp op) {
  const auto index = static_cast<std::size_t>(op);
  WEIR_CHECK(index < kNames.size());
  return kNames[index];
}

}  // namespace weir
