#include "coordinator/rank/exchange_watch.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "common/log.h"

namespace weir {

ExchangeWatch::ExchangeWatch(const Settings& settings, int rank, Membership* membership,
                             Transport* ranks)
    : enabled_(settings.stall_check),
      limits_(settings),
      rank_(rank),
      membership_(membership),
      probe_(membership == nullptr || ranks == nullptr ? nullptr
                                                       : std::make_unique<ReachProbe>(*ranks)) {}

std::optional<std::string> ExchangeWatch::Check(std::int64_t now_ns, Work work,
                                                NetworkTotals totals,
                                                const std::function<std::vector<int>()>& awaited) {
  if (probe_) {  // Its own messages are no sign that anything moves.
    totals.sent_messages -= probe_->sent();
    totals.received_messages -= probe_->received();
  }
  if (work == Work::kNone || !moved_ns_ || totals != seen_) {
    seen_ = totals;
    moved_ns_ = now_ns;
    next_warning_ns_ = now_ns + limits_.warning_ns;
    StopAsking();
    return {};
  }
  const std::int64_t age = now_ns - *moved_ns_;
  if (enabled_) Ask(age);
  const bool over = limits_.shutdown_ns > 0 && age >= limits_.shutdown_ns;
  if (!enabled_ || work != Work::kExchange || !(over || now_ns >= next_warning_ns_)) return {};
  std::string text =
      fmt::format("an exchange of rank {} has stood still for {:.1f} s, waiting for ranks [{}]",
                  rank_, static_cast<double>(age) / 1e9, fmt::join(awaited(), ", "));
  if (over) return text;
  LogWarning("stalled: {}", text);
  next_warning_ns_ = now_ns + limits_.warning_ns;
  return {};
}

void ExchangeWatch::Ask(std::int64_t age_ns) {
  if (!probe_ || limits_.shutdown_ns == 0 || age_ns < limits_.shutdown_ns / 2) return;
  if (!probe_->under_way()) probe_->Start();
  probe_->Poll();
  if (told_ || age_ns < limits_.shutdown_ns / 4 * 3) return;
  membership_->SendUnheard(probe_->Unheard());
  told_ = true;
}

void ExchangeWatch::StopAsking() {
  if (!probe_ || !probe_->under_way()) return;
  probe_->Stop();
  if (told_) membership_->SendUnheard(std::nullopt);
  told_ = false;
}

void ExchangeWatch::Cancel() {
  if (probe_) probe_->Cancel();
}

}  // namespace weir
