#include "common/supervision/turned_away.h"

namespace weir::supervision {

constexpr std::chrono::seconds kBetweenTellings{60};

void TurnedAway::Add(const std::string& from, const std::string& why, Time now) {
  ++count_;
  if (count_ > 1 && now < next_) return;
  next_ = now + kBetweenTellings;
  told_ = count_;
  const std::string what = count_ == 1 ? "turned away a connection from " + from
                                       : "turned away " + std::to_string(count_) +
                                             " connections so far, the last from " + from;
  tell_(what + ": it " + why);
}

void TurnedAway::SumUp() {
  if (count_ > told_) tell_("turned away " + std::to_string(count_) + " connections in all");
  told_ = count_;
}

}  // namespace weir::supervision
