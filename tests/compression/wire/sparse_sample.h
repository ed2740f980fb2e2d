#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

#include "compression/wire/sparse_payload.h"

namespace weir::test {

/// k of n entries.
struct SparseSample {
  std::size_t n;
  std::vector<std::uint32_t> indices;  ///< Ascending.
  std::vector<float> values;
};

template <class Random>
SparseSample RandomSample(std::size_t n, std::size_t k, Random& random) {
  SparseSample sample{n, {}, {}};
  // Selection sampling (Knuth, algorithm S).
  for (std::size_t i = 0, left = k; left > 0; ++i) {
    if (random() % (n - i) < left) {
      sample.indices.push_back(static_cast<std::uint32_t>(i));
      --left;
    }
  }
  std::normal_distribution<float> normal;
  for (std::size_t i = 0; i < k; ++i) sample.values.push_back(normal(random));
  return sample;
}

/// Encodes; sample.values are the decoded values afterwards.
inline std::vector<std::byte> Encoded(SparseSample& sample, ValueType type) {
  std::vector<std::byte> payload(SparsePayloadBytes(sample.n, sample.indices.size(), type));
  payload.resize(EncodeSparse(sample.n, sample.indices, sample.values, type, payload));
  return payload;
}

/// A receiver's knowledge of the sample, with no more entries than there are.
inline SparseForm FormOf(const SparseSample& sample, ValueType type) {
  return {sample.n, sample.indices.size(), type};
}

inline constexpr ValueType kAllValueTypes[] = {
    ValueType::kFloat16, ValueType::kFloat32, ValueType::kInt8, ValueType::kInt4, ValueType::kInt2};
inline constexpr ValueType kLowBitTypes[] = {ValueType::kInt8, ValueType::kInt4, ValueType::kInt2};

}  // namespace weir::test
