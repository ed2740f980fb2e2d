#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "compression/dgc/dgc_math.h"

namespace weir::cpu {

/// A selection of exactly the k largest magnitudes of a tensor: all entries above the k-th largest,
/// and of those that equal it, the ties, the first ones. Not thread-safe. Allocates only when k
/// grows.
class ExactK {
 public:
  /// Begins a selection of k entries: all whose MagnitudeKey is above `kth`, and at most `ties`
  /// that equal it. The candidates have exactly k such entries.
  void Begin(std::size_t k, std::uint32_t kth, std::size_t ties);

  /// Takes the winners among candidates; `index_at(i)` is the place of `values[i]` in the tensor.
  /// Called with all candidates, in index order, by as many calls as there are lists of them.
  template <typename IndexAt>
  void TakeFrom(std::span<const float> values, const IndexAt& index_at);

  /// Selects nothing.
  void Clear() { k_ = 0; }

  /// Number of ties that no candidate took.
  std::size_t ties_left() const { return ties_; }
  std::size_t size() const { return k_; }
  /// The selected entries, in index order.
  std::span<const std::uint32_t> indices() const { return {indices_.data(), k_}; }
  std::span<float> values() { return {values_.data(), k_}; }

 private:
  std::size_t k_ = 0;
  std::uint32_t kth_ = 0;
  std::size_t count_ = 0;  ///< Entries taken so far.
  std::size_t ties_ = 0;   ///< Ties that may still be taken.
  std::vector<std::uint32_t> indices_;
  std::vector<float> values_;
};

inline void ExactK::Begin(std::size_t k, std::uint32_t kth, std::size_t ties) {
  k_ = k;
  kth_ = kth;
  count_ = 0;
  ties_ = ties;
  // One entry more than needed: TakeFrom writes first and then decides.
  indices_.resize(k + 1);
  values_.resize(k + 1);
}

template <typename IndexAt>
void ExactK::TakeFrom(std::span<const float> values, const IndexAt& index_at) {
  std::uint32_t* const indices = indices_.data();
  float* const winners = values_.data();
  const std::uint32_t kth = kth_;
  std::size_t count = count_;
  std::size_t ties = ties_;
  // Without branches: no branch predictor can guess which entry wins.
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint32_t key = MagnitudeKey(values[i]);
    const std::size_t tie = key == kth && ties > 0 ? 1 : 0;
    indices[count] = index_at(i);
    winners[count] = values[i];
    count += key > kth ? 1 : tie;
    ties -= tie;
  }
  count_ = count;
  ties_ = ties;
}

}  // namespace weir::cpu
