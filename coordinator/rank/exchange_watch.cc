#include "coordinator/rank/exchange_watch.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "common/log.h"

namespace weir {

ExchangeWatch::ExchangeWatch(const Settings& settings, int rank, Membership* membership)
    : enabled_(settings.stall_check), limits_(settings), rank_(rank), membership_(membership) {}

std::optional<std::string> ExchangeWatch::Check(std::int64_t now_ns, Work work,
                                                const NetworkTotals& totals,
                                                const std::function<std::vector<int>()>& awaited) {
  if (work == Work::kNone || !moved_ns_ || totals != seen_) {
    seen_ = totals;
    moved_ns_ = now_ns;
    next_warning_ns_ = now_ns + limits_.warning_ns;
    Tell({}, work);
    return {};
  }
  const std::int64_t age = now_ns - *moved_ns_;
  const bool over = limits_.shutdown_ns > 0 && age >= limits_.shutdown_ns;
  // Before anybody ends the job, so that weirrun has heard all sides.
  if (enabled_ && limits_.shutdown_ns > 0 && age >= limits_.shutdown_ns / 2) Tell(awaited(), work);
  if (!enabled_ || work != Work::kExchange || !(over || now_ns >= next_warning_ns_)) return {};
  std::string text =
      fmt::format("an exchange of rank {} has stood still for {:.1f} s, waiting for ranks [{}]",
                  rank_, static_cast<double>(age) / 1e9, fmt::join(awaited(), ", "));
  if (over) return text;
  LogWarning("stalled: {}", text);
  next_warning_ns_ = now_ns + limits_.warning_ns;
  return {};
}

void ExchangeWatch::Tell(const std::vector<int>& awaited, Work work) {
  if (awaited == told_) return;
  told_ = awaited;
  if (membership_ != nullptr) membership_->SendAwaited(awaited, work == Work::kExchange);
}

}  // namespace weir
