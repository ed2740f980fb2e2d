#include "launcher/hosts/host_pool.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "launcher/text/seconds.h"

namespace weir::launcher {
namespace {

/// Returns where a host is among entries.
auto FindEntry(auto& entries, const std::string& host) {
  return std::ranges::find_if(entries, [&](const auto& entry) { return entry.host.name == host; });
}

}  // namespace

bool HostPool::Update(const std::vector<Host>& hosts) {
  std::vector<Entry> entries;
  bool changes = false;
  for (Entry& entry : entries_) {
    const auto found = std::ranges::find(hosts, entry.host.name, &Host::name);
    changes = changes || found == hosts.end() || found->slots != entry.host.slots;
    if (found == hosts.end()) continue;
    entry.host.slots = found->slots;
    entries.push_back(std::move(entry));
  }
  for (const Host& host : hosts) {
    if (FindEntry(entries, host.name) != entries.end()) continue;
    entries.push_back({.host = host});
    changes = true;
  }
  entries_ = std::move(entries);
  return changes;
}

int HostPool::SlotsOf(const std::string& host) const {
  const auto found = FindEntry(entries_, host);
  return found == entries_.end() ? 0 : found->host.slots;
}

HostPool::Entry* HostPool::Find(const std::string& host) {
  const auto found = FindEntry(entries_, host);
  return found == entries_.end() ? nullptr : &*found;
}

std::string HostPool::Lose(const std::string& host, Time now) {
  Entry* const entry = Find(host);
  if (entry == nullptr) return "its host has gone";
  std::optional<Time> until;
  std::string fate = "its slot is not used again";
  if (cooldown_) {
    const int doublings = std::min(entry->losses, 30);
    const auto rest = std::min(cooldown_->most, cooldown_->least * (std::int64_t{1} << doublings));
    until = now + rest;
    fate = fmt::format("its slot is used again after {} s", InSeconds(rest));
  }
  ++entry->losses;
  std::erase_if(entry->unused,
                [now](const std::optional<Time>& rest) { return rest && *rest <= now; });
  entry->unused.push_back(until);
  return fate;
}

int HostPool::Resting(const Entry& entry, Time now) {
  return static_cast<int>(std::ranges::count_if(
      entry.unused, [now](const std::optional<Time>& until) { return !until || *until > now; }));
}

std::vector<std::string> HostPool::Free(const std::map<std::string, int>& used, Time now) const {
  std::vector<std::string> free;
  for (const Entry& entry : entries_) {
    const auto found = used.find(entry.host.name);
    const int taken = found == used.end() ? 0 : found->second;
    const int count = entry.host.slots - taken - Resting(entry, now);
    free.insert(free.end(), static_cast<std::size_t>(std::max(0, count)), entry.host.name);
  }
  return free;
}

std::optional<HostPool::Time> HostPool::next_return(Time now) const {
  std::optional<Time> next;
  for (const Entry& entry : entries_) {
    for (const std::optional<Time>& until : entry.unused) {
      if (until && *until > now) next = std::min(next.value_or(*until), *until);
    }
  }
  return next;
}

}  // namespace weir::launcher
