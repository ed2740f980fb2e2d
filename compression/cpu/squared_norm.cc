#include "compression/cpu/squared_norm.h"

#include <cmath>
#include <cstddef>

#include "compression/squared_norm_tree.h"

// Compiled once for each instruction set, without the scalable vectors,
// which cannot be kept in an array.
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "compression/cpu/squared_norm.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace weir::cpu {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

constexpr std::size_t kSums = kNormSums;

/// Sums one block, in the same order for every vector length.
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
  return NormTree<kSums>(sums);
}

}  // namespace HWY_NAMESPACE
}  // namespace weir::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weir::cpu {
namespace {

HWY_EXPORT(BlockImpl);

}  // namespace

SquaredNormResult SquaredNorm(std::span<const float> values, float scale, ThreadPool* pool) {
  const auto block = [&](std::size_t begin, std::size_t count) {
    return HWY_DYNAMIC_DISPATCH(BlockImpl)(values.data() + begin, count, scale);
  };
  const double sum =
      SquaredNormTree(values.size(), block, [pool](std::size_t count, const auto& one) {
        if (pool == nullptr) {
          for (std::size_t i = 0; i < count; ++i) one(i);
        } else {
          pool->ParallelFor(static_cast<int>(count),
                            [&](int i) { one(static_cast<std::size_t>(i)); });
        }
      });
  return {sum, std::isfinite(sum)};
}

}  // namespace weir::cpu
#endif
