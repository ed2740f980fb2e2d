#include "compression/cpu/squared_norm.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>

// Compiled once for each instruction set; without the scalable vectors, which cannot be kept in an
// array.
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "compression/cpu/squared_norm.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace weir::cpu {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// A block's leaves: sum j takes the entries j, j + 16, j + 32, ..., whatever the vector length.
constexpr std::size_t kSums = 16;

/// One block: 16 running sums, then a tree over them.
double BlockImpl(const float* values, std::size_t count, float scale) {
  const hn::CappedTag<double, kSums> d;
  const hn::Rebind<float, decltype(d)> df;
  constexpr std::size_t kLanes = hn::MaxLanes(d);
  constexpr std::size_t kVectors = kSums / kLanes;
  hn::Vec<decltype(d)> vectors[kVectors];
  for (auto& sum : vectors) sum = hn::Zero(d);
  std::size_t i = 0;
  for (; i + kSums <= count; i += kSums) {
    for (std::size_t j = 0; j < kVectors; ++j) {
      const auto x = hn::Mul(hn::LoadU(df, values + i + j * kLanes), hn::Set(df, scale));
      const auto wide = hn::PromoteTo(d, x);
      vectors[j] = hn::Add(vectors[j], hn::Mul(wide, wide));
    }
  }
  double sums[kSums];
  for (std::size_t j = 0; j < kVectors; ++j) hn::StoreU(vectors[j], d, sums + j * kLanes);
  for (std::size_t j = 0; i < count; ++i, ++j) {
    const double x = values[i] * scale;
    sums[j] += x * x;
  }
  for (std::size_t width = kSums / 2; width > 0; width /= 2) {
    for (std::size_t j = 0; j < width; ++j) sums[j] += sums[j + width];
  }
  return sums[0];
}

}  // namespace HWY_NAMESPACE
}  // namespace weir::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weir::cpu {
namespace {

HWY_EXPORT(BlockImpl);

constexpr std::size_t kBlock = 4096;
// Subtrees that threads share out. A constant: the tree must not know the number of threads.
constexpr std::size_t kSubtrees = 64;

/// Blocks of up to `span` entries (a power of two) under one node; below kBlock, one block.
double Subtree(std::span<const float> values, float scale, std::size_t span) {
  if (span <= kBlock || values.size() <= kBlock) {
    return HWY_DYNAMIC_DISPATCH(BlockImpl)(values.data(), values.size(), scale);
  }
  const std::size_t half = span / 2;
  if (values.size() <= half) return Subtree(values, scale, half);
  return Subtree(values.first(half), scale, half) + Subtree(values.subspan(half), scale, half);
}

}  // namespace

SquaredNormResult SquaredNorm(std::span<const float> values, float scale, ThreadPool* pool) {
  const std::size_t span = std::max(std::bit_ceil(values.size()) / kSubtrees, kBlock);
  std::array<double, kSubtrees> sums{};
  const std::size_t used = (values.size() + span - 1) / span;
  const auto sum_one = [&](int part) {
    const auto p = static_cast<std::size_t>(part);
    const std::size_t begin = p * span;
    sums[p] = Subtree(values.subspan(begin, std::min(span, values.size() - begin)), scale, span);
  };
  if (pool == nullptr) {
    for (std::size_t p = 0; p < used; ++p) sum_one(static_cast<int>(p));
  } else {
    pool->ParallelFor(static_cast<int>(used), sum_one);
  }
  for (std::size_t width = kSubtrees / 2; width > 0; width /= 2) {
    for (std::size_t p = 0; p < width; ++p) sums[p] += sums[p + width];
  }
  return {sums[0], std::isfinite(sums[0])};
}

}  // namespace weir::cpu
#endif
