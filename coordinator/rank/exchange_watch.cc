#include "coordinator/rank/exchange_watch.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "common/log.h"

namespace weir {

ExchangeWatch::ExchangeWatch(const Settings& settings, int rank)
    : enabled_(settings.stall_check), limits_(settings), rank_(rank) {}

std::optional<std::string> ExchangeWatch::Check(std::int64_t now_ns, bool exchanging,
                                                const NetworkTotals& totals,
                                                const std::function<std::vector<int>()>& awaited) {
  if (!exchanging || !moved_ns_ || totals != seen_) {
    seen_ = totals;
    moved_ns_ = now_ns;
    next_warning_ns_ = now_ns + limits_.warning_ns;
    return {};
  }
  const std::int64_t age = now_ns - *moved_ns_;
  const bool over = limits_.shutdown_ns > 0 && age >= limits_.shutdown_ns;
  if (!enabled_ || !(over || now_ns >= next_warning_ns_)) return {};
  std::string text =
      fmt::format("an exchange of rank {} has stood still for {:.1f} s, waiting for ranks [{}]",
                  rank_, static_cast<double>(age) / 1e9, fmt::join(awaited(), ", "));
  if (over) return text;
  LogWarning("stalled: {}", text);
  next_warning_ns_ = now_ns + limits_.warning_ns;
  return {};
}

}  // namespace weir
