#include "coordinator/plan/served_state.h"

#include <algorithm>
#include <iterator>
#include <set>

namespace weir {

std::string ServedName(const std::string& partition) { return partition + " at its server"; }

std::vector<SavedArray> TakeServed(std::span<const std::string> partitions,
                                   std::span<SavedState> states) {
  std::set<std::string> names;
  for (const std::string& partition : partitions) names.insert(ServedName(partition));
  std::vector<SavedArray> taken;
  for (SavedState& state : states) {
    const auto own = std::stable_partition(
        state.arrays.begin(), state.arrays.end(),
        [&](const SavedArray& array) { return !names.contains(array.tensor); });
    std::move(own, state.arrays.end(), std::back_inserter(taken));
    state.arrays.erase(own, state.arrays.end());
  }
  return taken;
}

void GiveServed(std::span<const NamedCompressor> served, std::span<const SavedArray> taken,
                SavedState& state) {
  for (const auto& [name, compressor] : served) {
    for (const TensorCompression::StateArray& array : compressor->State()) {
      const auto former = std::ranges::find_if(taken, [&, &name = name](const SavedArray& saved) {
        return saved.tensor == name && saved.name == array.name &&
               saved.values.size() == array.values.size();
      });
      state.arrays.push_back({name, array.name, std::vector<float>(array.values.size())});
      if (former != taken.end()) state.arrays.back().values = former->values;
    }
  }
}

}  // namespace weir
