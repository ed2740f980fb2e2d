#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <utility>

#include "launcher/job/elastic_job.h"

// How an elastic job grows and shrinks with its hosts.

namespace weir::launcher {

using supervision::MessageType;

void ElasticJob::OnHosts(const std::vector<Host>& hosts, Time now) {
  if (ending() || finished_) return;
  if (pool_.Update(hosts)) futility_.OnChange();
  std::map<std::string, std::vector<int>> go;
  std::map<std::string, int> stay;
  for (int p = 0; p < processes_.size(); ++p) {  // Of a host with fewer slots the newest go.
    Process& one = processes_.At(p);
    if (one.state == Process::kOver || one.unwanted) continue;
    if (++stay[one.host] <= pool_.SlotsOf(one.host)) continue;
    one.unwanted = true;
    go[one.host].push_back(p);
    if (one.rank < 0) Dismiss(p, now);
  }
  for (const auto& [host, processes] : go) {
    const int slots = pool_.SlotsOf(host);
    say_(fmt::format("{}; to be let go: {}",
                     slots == 0 ? "host " + host + " is no longer one that the script prints"
                                : fmt::format("host {} has {} {} left", host, slots,
                                              slots == 1 ? "slot" : "slots"),
                     processes_.NamesOf(processes)));
  }
  if (!go.empty()) epoch_.Tell({.type = MessageType::kHostsUpdated});
  Grow(now);
  DealIfComplete(now);
}

void ElasticJob::Dismiss(int process, Time now) {
  Process& gone = processes_.At(process);
  if (std::exchange(gone.dismissed, true)) return;
  gone.waits = false;
  gone.kill_due = now + policy_.grace;
  if (gone.state == Process::kStarting) gone.state = Process::kOver;
  send_(process, {.type = MessageType::kTerminate});
}

bool ElasticJob::can_grow(Time now) const {
  return elastic_.finds_hosts || pool_.next_return(now).has_value() || !FreeSlots(now).empty();
}

std::vector<int> ElasticJob::InUse() const {
  // One that has just ended well may be the first of all.
  return processes_.Those([](const Process& one) {
    return one.state != Process::kOver || one.settles || one.unjoined;
  });
}

std::vector<std::string> ElasticJob::FreeSlots(Time now) const {
  std::map<std::string, int> used;
  const std::vector<int> processes = InUse();
  for (const int p : processes) ++used[processes_.At(p).host];
  std::vector<std::string> free = pool_.Free(used, now);
  const int allowed = std::max(0, elastic_.max_ranks - static_cast<int>(processes.size()));
  free.resize(std::min(free.size(), static_cast<std::size_t>(allowed)));
  return free;
}

void ElasticJob::Grow(Time now) {
  const bool may = met_ || std::cmp_less(InUse().size(), elastic_.min_ranks);
  if (ending() || finished_ || !may || StateIsLost()) return;
  for (const std::string& host : FreeSlots(now)) {
    processes_.Add({.host = host, .later = true, .start_due = now + policy_.start_timeout});
    start_(host, 1);
  }
}

}  // namespace weir::launcher
