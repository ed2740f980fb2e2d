#include "metrics/gauges/traffic.h"

#include <algorithm>
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

TrafficOp TrafficOpOf(std::string_view name) {
  const auto found = std::ranges::find(kNames, name);
  return found == kNames.end() ? TrafficOp::kOther : static_cast<TrafficOp>(found - kNames.begin());
}

}  // namespace weir
