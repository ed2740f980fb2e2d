#include "metrics/gauges/engine_gauges.h"

#include <utility>

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

void EngineGauges::NoteStalled(const std::string& name) {
  constexpr std::size_t kMost = 1024;  // A program may make up names for ever.
  const std::lock_guard lock(mutex_);
  if (stalled_.size() < kMost) stalled_.insert(name);
}

std::vector<std::string> EngineGauges::stalled_names(std::uint64_t& count) const {
  constexpr std::size_t kShown = 8;
  const std::lock_guard lock(mutex_);
  count = stalled_.size();
  std::vector<std::string> names;
  for (const std::string& name : stalled_) {
    if (names.size() == kShown) break;
    names.push_back(name);
  }
  return names;
}

void EngineGauges::NoteDivergence(const std::string& warning) {
  constexpr std::size_t kMost = 8;
  const std::lock_guard lock(mutex_);
  if (divergences_.size() < kMost) divergences_.push_back(warning);
}

std::vector<std::string> EngineGauges::divergences() const {
  const std::lock_guard lock(mutex_);
  return divergences_;
}

void EngineGauges::SetStalls(Stalls stalls) {
  const std::lock_guard lock(mutex_);
  stalls_ = std::move(stalls);
}

Stalls EngineGauges::stalls() const {
  const std::lock_guard lock(mutex_);
  return stalls_;
}

}  // namespace weir
