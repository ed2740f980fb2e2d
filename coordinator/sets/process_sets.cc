#include "coordinator/sets/process_sets.h"

#include <algorithm>
#include <numeric>

#include "coordinator/servers/server_links.h"
#include "ops/transport/subset_transport.h"
#include "weir/error.h"

namespace weir {
namespace {

std::vector<int> AllRanks(int size) {
  std::vector<int> ranks(static_cast<std::size_t>(size));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

}  // namespace

ProcessSets::ProcessSets(Transport& network, const ProcessSet::Shared& shared)
    : network_(network),
      shared_(shared),
      capacity_(SubsetTransport::Lanes(network) - ServerLinks::Lanes(network)) {
  sets_.push_back(std::make_unique<ProcessSet>(ProcessSet::kGlobal, AllRanks(network.size()),
                                               /*lane=*/0, network, shared));
  global_ = sets_.back().get();
  own_.push_back(global_);
}

ProcessSet* ProcessSets::Get(int id) const {
  std::lock_guard lock(mutex_);
  if (id < 0 || static_cast<std::size_t>(id) >= sets_.size() || removed_.contains(id)) {
    return nullptr;
  }
  return sets_[static_cast<std::size_t>(id)].get();
}

std::vector<int> ProcessSets::RanksOf(int id) const {
  const ProcessSet* set = Get(id);
  return set == nullptr ? std::vector<int>() : set->ranks();
}

ProcessSet& ProcessSets::Find(int id) const {
  if (ProcessSet* set = Get(id)) return *set;
  throw InvalidArgument(
      "Process set provided does not exist, or has not been registered. (process set " +
          std::to_string(id) + ")",
      {"", {network_.rank()}, "submit"});
}

ProcessSet& ProcessSets::FindOwn(int id) const {
  ProcessSet& set = Find(id);
  if (closed_door_ == id) {
    throw InvalidArgument("process set " + std::to_string(id) + " is being removed",
                          {"", {network_.rank()}, "submit"});
  }
  if (set.includes(network_.rank())) return set;
  std::string ranks;
  for (const int rank : set.ranks()) ranks += (ranks.empty() ? "" : ", ") + std::to_string(rank);
  throw InvalidArgument("Rank " + std::to_string(network_.rank()) +
                            " is not a member of the provided process set. (process set " +
                            std::to_string(id) + " has the ranks [" + ranks + "])",
                        {"", {network_.rank()}, "submit"});
}

std::optional<int> ProcessSets::IdOf(std::span<const int> ranks) const {
  std::lock_guard lock(mutex_);
  for (const auto& set : sets_) {
    if (!removed_.contains(set->id()) && std::ranges::equal(set->ranks(), ranks)) return set->id();
  }
  return std::nullopt;
}

void ProcessSets::SetHosts(std::vector<int> host_of_rank) {
  std::lock_guard lock(mutex_);
  host_of_rank_ = std::move(host_of_rank);
  for (const auto& set : sets_) set->network().SetHosts(host_of_rank_);
}

bool ProcessSets::full() const {
  std::lock_guard lock(mutex_);
  return lanes_.size() >= capacity_;
}

int ProcessSets::Add(std::vector<int> ranks) {
  std::lock_guard lock(mutex_);
  std::uint32_t lane = 1;
  while (lanes_.contains(lane)) ++lane;
  lanes_.insert(lane);
  const int id = static_cast<int>(sets_.size());
  sets_.push_back(std::make_unique<ProcessSet>(id, std::move(ranks), lane, network_, shared_));
  if (!host_of_rank_.empty()) sets_.back()->network().SetHosts(host_of_rank_);
  if (sets_.back()->includes(network_.rank())) own_.push_back(sets_.back().get());
  return id;
}

void ProcessSets::Remove(int id) {
  std::lock_guard lock(mutex_);
  ProcessSet& set = *sets_[static_cast<std::size_t>(id)];
  for (const auto& run : shared_.live.all()) {
    const Bucket* const bucket = run->bucket;
    if (bucket->process_set != &set) continue;
    throw InvalidArgument("process set " + std::to_string(id) +
                              " was removed by one thread while another submitted '" +
                              bucket->name() + "' to it",
                          {bucket->name(), {network_.rank()}, "negotiate"});
  }
  set.Retire();
  removed_.insert(id);
  lanes_.erase(set.network().lane());
  std::erase(own_, &set);
}

}  // namespace weir
