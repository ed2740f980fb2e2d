#include "compression/state/state.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <map>
#include <utility>

#include "weir/error.h"

namespace weir {
namespace {

using Key = std::pair<std::string, std::string>;  // Tensor, array.

std::string Quoted(const Key& key) {
  return "array \"" + key.second + "\" of tensor \"" + key.first + "\"";
}

std::string Described(const SavedArray& array) {
  return Quoted({array.tensor, array.name}) + " of " + std::to_string(array.values.size()) +
         " values";
}

void CheckOneSave(const SavedState& a, const SavedState& b) {
  const std::string which = "saved states of rank " + std::to_string(a.rank) + " and rank " +
                            std::to_string(b.rank) + " do not belong to one save: ";
  if (a.step != b.step) {
    throw InvalidArgument(which + "step " + std::to_string(a.step) + " and step " +
                          std::to_string(b.step));
  }
  const std::string difference = FirstDifference(a, "the first", b, "the second");
  if (!difference.empty()) throw InvalidArgument(which + difference);
}

void CheckOldStates(std::span<const SavedState> old_states) {
  for (std::size_t i = 0; i < old_states.size(); ++i) {
    const SavedState& state = old_states[i];
    if (state.rank != static_cast<int>(i) || state.ranks != static_cast<int>(old_states.size())) {
      throw InvalidArgument("saved state " + std::to_string(i) + " of " +
                            std::to_string(old_states.size()) + " was saved as rank " +
                            std::to_string(state.rank) + " of " + std::to_string(state.ranks) +
                            "; give the states of all ranks in rank order");
    }
    CheckOneSave(old_states[0], state);
  }
}

/// Returns, for every old rank, whether it left. Throws InvalidArgument for impossible origins.
std::vector<bool> WhoLeft(std::size_t old_ranks, std::span<const int> origins) {
  std::vector<bool> left(old_ranks, true);
  for (const int origin : origins) {
    if (origin == kNewRank) continue;
    const auto old_rank = static_cast<std::size_t>(origin);
    if (origin < 0 || old_rank >= old_ranks || !left[old_rank]) {
      throw InvalidArgument("old rank " + std::to_string(origin) +
                            " does not exist or continues as two new ranks");
    }
    left[old_rank] = false;
  }
  return left;
}

/// True if all ranks held the same bits: the momentum of dense
/// tensors is equal on every rank.
bool SameOnAllRanks(std::span<const SavedState> states, std::size_t array) {
  const auto bits = [](float value) { return std::bit_cast<std::uint32_t>(value); };
  return std::ranges::all_of(states, [&](const SavedState& state) {
    return std::ranges::equal(state.arrays[array].values, states[0].arrays[array].values, {}, bits,
                              bits);
  });
}

/// True if an array estimates something of the gradient and holds nothing still to be sent. A rank
/// that has one keeps it; a rank that joins takes the mean of all.
bool IsEstimate(const SavedArray& array) {
  return array.name == "first moment" || array.name == "second moment" ||
         array.name == "moment steps";
}

float MeanOfAll(std::span<const SavedState> states, std::size_t array, std::size_t i) {
  double sum = 0.0;  // In double and in rank order: rounded once, the same everywhere.
  for (const SavedState& state : states) sum += state.arrays[array].values[i];
  return static_cast<float>(sum / static_cast<double>(states.size()));
}

}  // namespace

SavedState Collect(std::span<const NamedCompressor> compressors) {
  SavedState state;
  for (const auto& [tensor, compressor] : compressors) {
    for (const TensorCompression::StateArray& array : compressor->State()) {
      state.arrays.push_back({tensor, array.name, {array.values.begin(), array.values.end()}});
    }
  }
  return state;
}

namespace {

constexpr const char* kOtherOptions =
    ": was it saved with other tensors, or with another \"compressor\", \"momentum\" or \"ef\"? "
    "Give "
    "what it was saved with";

using Copies = std::vector<std::pair<const SavedArray*, std::span<float>>>;

/// Pairs arrays. Throws InvalidArgument when something is left over on either side.
Copies Match(const SavedState& state, std::span<const NamedCompressor> compressors) {
  std::map<Key, const SavedArray*> saved;
  for (const SavedArray& array : state.arrays) saved[{array.tensor, array.name}] = &array;
  Copies copies;
  for (const auto& [tensor, compressor] : compressors) {
    for (const TensorCompression::StateArray& array : compressor->State()) {
      const Key key{tensor, array.name};
      const auto found = saved.find(key);
      if (found == saved.end()) {
        throw InvalidArgument("saved state has no " + Quoted(key) + kOtherOptions);
      }
      const std::size_t size = found->second->values.size();
      if (size != array.values.size()) {
        throw InvalidArgument("saved state: " + Quoted(key) + " has " + std::to_string(size) +
                              " elements, but the tensor has " +
                              std::to_string(array.values.size()));
      }
      copies.emplace_back(found->second, array.values);
      saved.erase(found);
    }
  }
  if (!saved.empty()) {
    throw InvalidArgument("saved state: " + Quoted(saved.begin()->first) +
                          " belongs to nothing in this job" + kOtherOptions);
  }
  return copies;
}

}  // namespace

std::string FirstDifference(const SavedState& a, const std::string& a_name, const SavedState& b,
                            const std::string& b_name) {
  const auto same = [](const SavedArray& x, const SavedArray& y) {
    return x.tensor == y.tensor && x.name == y.name && x.values.size() == y.values.size();
  };
  const auto [x, y] = std::ranges::mismatch(a.arrays, b.arrays, same);
  if (x == a.arrays.end() && y == b.arrays.end()) return {};
  if (x == a.arrays.end()) return Described(*y) + " is in " + b_name + " only";
  if (y == b.arrays.end()) return Described(*x) + " is in " + a_name + " only";
  return a_name + " has " + Described(*x) + " where " + b_name + " has " + Described(*y);
}

void ReadEach(const std::string& whose, std::span<std::istream* const> files,
              const std::function<void(std::istream&)>& read) {
  if (std::ranges::count(files, nullptr) > 0) {
    throw InvalidArgument("Load of '" + whose + "' got a null stream");
  }
  for (std::size_t i = 0; i < files.size(); ++i) {
    try {
      read(*files[i]);
    } catch (const Corrupt& error) {
      throw Corrupt("Load of '" + whose + "', file " + std::to_string(i + 1) + " of " +
                    std::to_string(files.size()) + ": " + error.what());
    }
  }
}

void CheckFits(const SavedState& state, std::span<const NamedCompressor> compressors) {
  Match(state, compressors);
}

void Restore(const SavedState& state, std::span<const NamedCompressor> compressors) {
  for (const auto& [array, values] : Match(state, compressors)) {
    std::ranges::copy(array->values, values.begin());
  }
  for (const auto& [tensor, compressor] : compressors) compressor->Restored();
}

SavedState Remap(std::span<const SavedState> old_states, std::span<const int> origins, int rank) {
  if (old_states.empty() || rank < 0 || static_cast<std::size_t>(rank) >= origins.size()) {
    throw InvalidArgument("remapping needs old states and a rank below " +
                          std::to_string(origins.size()) + ", found rank " + std::to_string(rank));
  }
  CheckOldStates(old_states);
  const std::vector<bool> left = WhoLeft(old_states.size(), origins);
  const int origin = origins[static_cast<std::size_t>(rank)];
  const auto new_ranks = static_cast<double>(origins.size());
  const double growth = new_ranks / static_cast<double>(old_states.size());

  SavedState state = old_states[static_cast<std::size_t>(std::max(origin, 0))];
  state.ranks = static_cast<int>(origins.size());
  state.rank = rank;
  const bool anyone_left = std::ranges::find(left, true) != left.end();
  if (!anyone_left && growth == 1.0) return state;
  for (std::size_t a = 0; a < state.arrays.size(); ++a) {
    if (SameOnAllRanks(old_states, a)) continue;
    std::vector<float>& values = state.arrays[a].values;
    if (IsEstimate(state.arrays[a])) {
      if (origin != kNewRank) continue;
      for (std::size_t i = 0; i < values.size(); ++i) values[i] = MeanOfAll(old_states, a, i);
      continue;
    }
    for (std::size_t i = 0; i < values.size(); ++i) {
      double orphaned = 0.0;  // In double and in rank order: rounded once, the same everywhere.
      for (std::size_t old_rank = 0; old_rank < left.size(); ++old_rank) {
        if (left[old_rank]) orphaned += old_states[old_rank].arrays[a].values[i];
      }
      const double own = origin == kNewRank ? 0.0 : values[i];
      values[i] = static_cast<float>(growth * (own + orphaned / new_ranks));
    }
  }
  return state;
}

}  // namespace weir
