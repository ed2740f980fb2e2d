#include "launcher/job/epoch.h"

#include <algorithm>
#include <utility>

#include "launcher/hosts/hosts.h"

namespace weir::launcher {

using supervision::Message;
using supervision::MessageType;

int Epoch::RankOf(int process) const {
  const auto found = rank_of_.find(process);
  return found == rank_of_.end() ? -1 : found->second;
}

std::optional<int> Epoch::ProcessOf(int rank) const {
  if (rank < 0 || std::cmp_greater_equal(rank, members_.size())) return {};
  const Member& member = members_[static_cast<std::size_t>(rank)];
  return member.present ? std::optional(member.process) : std::nullopt;
}

bool Epoch::joined(int process) const {
  const int rank = RankOf(process);
  return rank >= 0 && members_[static_cast<std::size_t>(rank)].joined;
}

std::vector<int> Epoch::Present() const {
  std::vector<int> present;
  for (const Member& member : members_) {
    if (member.present) present.push_back(member.process);
  }
  return present;
}

std::vector<int> Epoch::Unmet() const {
  std::vector<int> unmet;
  for (const Member& member : members_) {
    if (member.present && !member.joined) unmet.push_back(member.process);
  }
  return unmet;
}

void Epoch::Deal(const std::vector<Seat>& seats) {
  ++number_;
  whole_ = true;
  members_.clear();
  rank_of_.clear();
  meeting_.emplace(seats.size());
  std::vector<Host> hosts;  // Runs of ranks on one host; a host may have several.
  for (const auto& [process, host] : seats) {
    rank_of_[process] = static_cast<int>(members_.size());
    members_.push_back({.process = process});
    if (hosts.empty() || hosts.back().name != host) hosts.push_back({.name = host, .slots = 0});
    ++hosts.back().slots;
  }
  const std::string text = HostsText(hosts);
  for (int rank = 0; const auto& [process, host] : seats) {
    send_(
        process,
        {.type = MessageType::kPlace, .rank = rank++, .code = number_, .host = host, .text = text});
  }
}

void Epoch::Bring(int process, const std::string& address) {
  const int rank = RankOf(process);
  if (rank < 0 || !whole_) return;
  meeting_->Bring(rank, address, [this](int to, const Message& message) { TellRank(to, message); });
}

void Epoch::Join(int process) {
  const int rank = RankOf(process);
  if (rank >= 0) members_[static_cast<std::size_t>(rank)].joined = true;
}

void Epoch::Remove(int process) {
  const int rank = RankOf(process);
  if (rank < 0) return;
  members_[static_cast<std::size_t>(rank)].present = false;
  rank_of_.erase(process);
}

void Epoch::Break(int process, const Message& message) {
  whole_ = false;
  for (const int other : Present()) {
    if (other != process) send_(other, message);
  }
}

void Epoch::Tell(const Message& message) const {
  for (const int process : Present()) send_(process, message);
}

void Epoch::TellRank(int rank, const Message& message) const {
  const Member& member = members_[static_cast<std::size_t>(rank)];
  if (member.present) send_(member.process, message);
}

}  // namespace weir::launcher
