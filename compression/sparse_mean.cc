#include "compression/sparse_mean.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <utility>

#include "common/check.h"

namespace weir {
namespace {

constexpr std::size_t kTile = 4096;  // Entries: 16 KiB stay in the first-level cache.
constexpr std::size_t kWordBits = 64;

/// A rank's payload, and how far it has been added.
struct Source {
  SparseEntries entries;
  std::size_t next = 0;
};

using Touched = std::array<std::uint64_t, kTile / kWordBits>;

void AddUpTo(std::size_t end, std::size_t begin, std::span<float> tile, Source& source,
             Touched& touched) {
  const auto& [indices, values] = source.entries;
  for (; source.next < indices.size() && indices[source.next] < end; ++source.next) {
    const std::size_t i = indices[source.next] - begin;
    tile[i] += values[source.next];
    touched[i / kWordBits] |= std::uint64_t{1} << (i % kWordBits);
  }
}

void CollectTouched(const Touched& touched, std::size_t begin, std::span<const float> tile,
                    SparseEntries& sums) {
  for (std::size_t word = 0; word < touched.size(); ++word) {
    for (std::uint64_t bits = touched[word]; bits != 0; bits &= bits - 1) {
      const std::size_t i = word * kWordBits + static_cast<std::size_t>(std::countr_zero(bits));
      sums.indices.push_back(static_cast<std::uint32_t>(begin + i));
      sums.values.push_back(tile[i]);
    }
  }
}

void DivideTouched(const Touched& touched, float divisor, std::span<float> tile) {
  for (std::size_t word = 0; word < touched.size(); ++word) {
    for (std::uint64_t bits = touched[word]; bits != 0; bits &= bits - 1) {
      tile[word * kWordBits + static_cast<std::size_t>(std::countr_zero(bits))] /= divisor;
    }
  }
}

}  // namespace

void MergeSparseMean(std::span<const std::span<const std::byte>> payloads, const SparseForm& form,
                     std::span<float> mean) {
  WEIR_CHECK(mean.size() == form.n);
  std::vector<Source> sources(payloads.size());
  for (std::size_t rank = 0; rank < payloads.size(); ++rank) {
    if (payloads[rank].empty()) continue;
    sources[rank].entries = DecodeSparse(payloads[rank], form);
  }
  const auto ranks = static_cast<float>(payloads.size());
  for (std::size_t begin = 0; begin < mean.size(); begin += kTile) {
    const std::span<float> tile = mean.subspan(begin, std::min(kTile, mean.size() - begin));
    std::ranges::fill(tile, 0.0f);
    Touched touched{};
    for (Source& source : sources) AddUpTo(begin + tile.size(), begin, tile, source, touched);
    DivideTouched(touched, ranks, tile);
  }
}

SparseEntries SumEntries(std::vector<SparseEntries> lists, std::size_t n) {
  std::vector<Source> sources;
  for (SparseEntries& list : lists) sources.push_back({.entries = std::move(list)});
  SparseEntries sums;
  std::array<float, kTile> tile;
  for (std::size_t begin = 0; begin < n; begin += kTile) {
    tile.fill(0.0f);
    Touched touched{};
    const std::size_t end = std::min(begin + kTile, n);
    for (Source& source : sources) AddUpTo(end, begin, tile, source, touched);
    CollectTouched(touched, begin, tile, sums);
  }
  return sums;
}

}  // namespace weir
