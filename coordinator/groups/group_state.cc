#include "coordinator/groups/group_state.h"

#include <algorithm>
#include <iterator>
#include <numeric>

#include "coordinator/plan/served_state.h"
#include "weir/error.h"

namespace weir {
namespace {

SavedState ReadState(std::istream& in) {
  const std::vector<char> bytes{std::istreambuf_iterator<char>(in),
                                std::istreambuf_iterator<char>()};
  return Deserialize(std::as_bytes(std::span<const char>(bytes)));
}

/// Ranks keep their numbers; those beyond the former size join, those beyond the new size have
/// left.
std::vector<int> Origins(int former_size, int size) {
  std::vector<int> origins(static_cast<std::size_t>(size), kNewRank);
  std::iota(origins.begin(), origins.begin() + std::min(former_size, size), 0);
  return origins;
}

}  // namespace

TensorCompression& GroupState::CompressionOf(std::size_t partition) const {
  if (on_gpu_[partition]) return *on_gpu_[partition];
  return *plan_.compressors[partition];
}

std::vector<NamedCompressor> GroupState::ServedCompressors() const {
  std::vector<NamedCompressor> served;
  for (std::size_t p = 0; p < plan_.partitions.size(); ++p) {
    Compressor* const answering = servers_.answering(p);
    if (answering != nullptr) served.push_back({ServedName(plan_.partitions[p].name), answering});
  }
  return served;
}

std::vector<NamedCompressor> GroupState::NamedCompressors() const {
  std::vector<NamedCompressor> named;
  for (std::size_t p = 0; p < plan_.partitions.size(); ++p) {
    named.push_back({plan_.partitions[p].name, &CompressionOf(p)});
  }
  std::ranges::copy(ServedCompressors(), std::back_inserter(named));
  return named;
}

std::vector<std::string> GroupState::PartitionNames() const {
  std::vector<std::string> names;
  for (const Partition& partition : plan_.partitions) names.push_back(partition.name);
  return names;
}

void GroupState::TakeUnanswered(std::span<const SavedArray> served, float factor,
                                const std::function<bool(std::size_t)>& takes,
                                SavedState& state) const {
  for (std::size_t p = 0; p < plan_.partitions.size(); ++p) {
    if (!takes(p)) continue;
    const std::string& name = plan_.partitions[p].name;
    for (const SavedArray& unanswered : served) {
      if (unanswered.tensor != ServedName(name)) continue;
      const auto unsent = std::ranges::find_if(state.arrays, [&](const SavedArray& array) {
        return array.tensor == name && array.name == unanswered.name &&
               array.values.size() == unanswered.values.size();
      });
      if (unsent == state.arrays.end()) continue;
      for (std::size_t i = 0; i < unsent->values.size(); ++i) {
        unsent->values[i] += factor * unanswered.values[i];
      }
    }
  }
}

void GroupState::CopyVelocity(std::size_t index, std::span<float> velocity) const {
  const auto elements = index < spec_.tensors.size()
                            ? static_cast<std::size_t>(spec_.tensors[index].shape.elements())
                            : 0;
  if (index >= spec_.tensors.size() || velocity.size() != elements) {
    throw InvalidArgument("CopyVelocity(" + std::to_string(index) + ") of '" + spec_.name +
                          "' into " + std::to_string(velocity.size()) + " values: it has " +
                          std::to_string(spec_.tensors.size()) + " gradients, and that one " +
                          std::to_string(elements) + " values");
  }
  std::ranges::fill(velocity, 0.0f);
  for (std::size_t p = plan_.first_partition[index]; p < plan_.first_partition[index + 1]; ++p) {
    const std::vector<TensorCompression::StateArray> state = CompressionOf(p).State();
    const auto found = std::ranges::find(state, "velocity", &TensorCompression::StateArray::name);
    if (found == state.end()) continue;
    std::ranges::copy(
        found->values,
        velocity.subspan(plan_.partitions[p].begin, plan_.partitions[p].elements).begin());
  }
}

SavedState GroupState::Collected() const {
  SavedState state = Collect(NamedCompressors());
  state.ranks = set_.size();
  state.rank = set_.network().IndexOf(rank_);
  if (const HostGrid* const hosts = SharingHosts()) {
    state.hosts = hosts->hosts();
    state.place = hosts->place();
  }
  return state;
}

SavedState GroupState::Read(std::span<std::istream* const> former_ranks) const {
  if (former_ranks.empty()) {
    throw InvalidArgument("Load of '" + spec_.name + "' needs at least one saved state");
  }
  std::vector<SavedState> states;
  ReadEach(spec_.name, former_ranks,
           [&states](std::istream& in) { states.push_back(ReadState(in)); });
  CheckHosts(states);
  // Other servers may have been there.
  const std::vector<SavedArray> served = TakeServed(PartitionNames(), states);
  SavedState mine = states.front();
  const bool is_own = states.size() == 1 && mine.ranks == set_.size();
  if (is_own) {
    if (mine.rank != set_.network().IndexOf(rank_)) {
      throw InvalidArgument("Load of '" + spec_.name + "' on rank " + std::to_string(rank_) +
                            " got the state of rank " +
                            std::to_string(set_.ranks()[static_cast<std::size_t>(mine.rank)]));
    }
  } else {
    if (static_cast<std::size_t>(mine.ranks) != states.size()) {
      throw InvalidArgument("Load of '" + spec_.name + "' got the states of " +
                            std::to_string(states.size()) + " ranks, but they were saved by " +
                            std::to_string(mine.ranks) + " ranks: give all of them, in rank order");
    }
    mine = Remap(states, Origins(mine.ranks, set_.size()), set_.network().IndexOf(rank_));
  }
  GiveServed(ServedCompressors(), served, mine);
  // Each array goes to one rank: that which answers the partition, or else that which has read it
  // alone, or else one that all agree on.
  TakeUnanswered(
      served, static_cast<float>(set_.size()),
      [&](std::size_t p) {
        return is_own ? servers_.answering(p) == nullptr : servers_.TakesUnanswered(p);
      },
      mine);
  Check(mine);
  return mine;
}

bool GroupState::goes_by_hosts() const {
  return std::ranges::any_of(plan_.variants, [](const Variant& variant) {
    return variant.route.compressed == WireRoute::kHostAllgather;
  });
}

const HostGrid* GroupState::SharingHosts() const {
  return goes_by_hosts() && hosts_ ? &*hosts_ : nullptr;
}

/// What a host's first rank has kept is sent by no other rank of it.
void GroupState::CheckHosts(std::span<const SavedState> states) const {
  const HostGrid* const hosts = SharingHosts();
  const int now = hosts == nullptr ? 0 : hosts->hosts();
  const bool is_own = states.size() == 1 && states.front().ranks == set_.size();
  for (const SavedState& state : states) {
    const bool same_keeps = hosts == nullptr || (is_own && state.place == hosts->place());
    if (state.hosts == now && same_keeps) continue;
    const auto kept = [](int count) {
      return count == 0 ? "every rank"
                        : "the first rank of each of " + std::to_string(count) + " hosts";
    };
    throw InvalidArgument("Load of '" + spec_.name + "': what was not sent yet was kept by " +
                          kept(state.hosts) + " (route), and would be kept by " + kept(now) +
                          ": start as many ranks as before, on as many hosts, with the same route");
  }
}

SavedState GroupState::ReadOne(std::istream& one_rank) const {
  std::istream* const streams[] = {&one_rank};
  SavedState state;
  ReadEach(spec_.name, streams, [&state](std::istream& in) { state = ReadState(in); });
  // Another rank may have served other partitions.
  const std::vector<SavedArray> served = TakeServed(PartitionNames(), {&state, 1});
  GiveServed(ServedCompressors(), served, state);
  // All ranks do.
  TakeUnanswered(
      served, 1.0f, [&](std::size_t p) { return !servers_.IsServed(p); }, state);
  Check(state);
  return state;
}

void GroupState::Check(const SavedState& state) const {
  if (!state.learning_rates.empty() && state.learning_rates.size() != ParameterGroups(spec_)) {
    throw InvalidArgument("Load of '" + spec_.name + "': the state has " +
                          std::to_string(state.learning_rates.size()) +
                          " parameter groups, this group has " +
                          std::to_string(ParameterGroups(spec_)));
  }
  CheckFits(state, NamedCompressors());
}

void GroupState::Restore(const SavedState& state) const {
  weir::Restore(state, NamedCompressors());
}

}  // namespace weir
