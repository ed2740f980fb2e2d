#include "metrics/engine_gauges.h"

#include "common/check.h"

namespace weir {

const char* Name(AbortReason reason) {
  constexpr std::array<const char*, kAbortReasonCount> kNames = {"peer_lost", "timed_out",
                                                                 "corrupt", "other"};
  const auto index = static_cast<std::size_t>(reason);
  WEIR_CHECK(index < kNames.size());
  return kNames[index];
}

void EngineGauges::SetTargetDensity(const std::string& group, double density) {
  const std::lock_guard lock(mutex_);
  target_densities_[group] = density;
}

std::map<std::string, double> EngineGauges::target_densities() const {
  const std::lock_guard lock(mutex_);
  return target_densities_;
}

}  // namespace weir
