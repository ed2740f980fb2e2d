#include "compression/cpu/low_rank.h"

#include <algorithm>

#include "common/check.h"
#include "compression/cpu/in_ranges.h"

// Compiled once for each instruction set, without the scalable vectors,
// which cannot be kept in an array.
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "compression/cpu/low_rank.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace weir::cpu {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Running sums of a scalar product: sum j takes the entries j, j + 8, j + 16, ..., whatever the
// vector length.
constexpr std::size_t kSums = 8;

/// kWidth scalar products of one row with columns of `cols` entries each.
template <std::size_t kWidth>
void RowTimesColumns(const float* row, const float* columns, std::size_t cols, float* out,
                     std::size_t stride) {
  const hn::CappedTag<float, kSums> d;
  constexpr std::size_t kLanes = hn::MaxLanes(d);
  constexpr std::size_t kVectors = kSums / kLanes;
  hn::Vec<decltype(d)> vectors[kWidth][kVectors];
  for (auto& column : vectors) {
    for (auto& sum : column) sum = hn::Zero(d);
  }
  std::size_t j = 0;
  for (; j + kSums <= cols; j += kSums) {
    for (std::size_t v = 0; v < kVectors; ++v) {
      const auto x = hn::LoadU(d, row + j + v * kLanes);
      for (std::size_t k = 0; k < kWidth; ++k) {
        const auto y = hn::LoadU(d, columns + k * cols + j + v * kLanes);
        vectors[k][v] = hn::Add(vectors[k][v], hn::Mul(x, y));
      }
    }
  }
  for (std::size_t k = 0; k < kWidth; ++k) {
    float sums[kSums];
    for (std::size_t v = 0; v < kVectors; ++v) hn::StoreU(vectors[k][v], d, sums + v * kLanes);
    for (std::size_t rest = j; rest < cols; ++rest) {
      sums[rest - j] += row[rest] * columns[k * cols + rest];
    }
    for (std::size_t width = kSums / 2; width > 0; width /= 2) {
      for (std::size_t s = 0; s < width; ++s) sums[s] += sums[s + width];
    }
    out[k * stride] = sums[0];
  }
}

void TimesRightImpl(const LowRankShape& shape, const float* matrix, const float* right,
                    std::size_t begin, std::size_t end, float* left) {
  for (std::size_t i = begin; i < end; ++i) {
    const float* row = matrix + i * shape.cols;
    std::size_t k = 0;
    for (; k + 4 <= shape.width; k += 4) {
      RowTimesColumns<4>(row, right + k * shape.cols, shape.cols, left + k * shape.rows + i,
                         shape.rows);
    }
    for (; k < shape.width; ++k) {
      RowTimesColumns<1>(row, right + k * shape.cols, shape.cols, left + k * shape.rows + i,
                         shape.rows);
    }
  }
}

/// sums[j] += factors[0] * rows[j] + factors[1] * rows[cols + j] + ..., from left to right.
template <std::size_t kRows>
void AddRows(const float* rows, std::size_t cols, const float* factors, std::size_t count,
             float* sums) {
  const hn::ScalableTag<float> d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t j = 0;
  for (; j + lanes <= count; j += lanes) {
    auto sum = hn::LoadU(d, sums + j);
    for (std::size_t i = 0; i < kRows; ++i) {
      sum = hn::Add(sum, hn::Mul(hn::Set(d, factors[i]), hn::LoadU(d, rows + i * cols + j)));
    }
    hn::StoreU(sum, d, sums + j);
  }
  for (; j < count; ++j) {
    for (std::size_t i = 0; i < kRows; ++i) sums[j] += factors[i] * rows[i * cols + j];
  }
}

/// Handles the columns from `begin` to `end`.
void TimesLeftImpl(const LowRankShape& shape, const float* matrix, const float* left,
                   std::size_t begin, std::size_t end, float* right) {
  for (std::size_t k = 0; k < shape.width; ++k) {
    std::fill(right + k * shape.cols + begin, right + k * shape.cols + end, 0.0f);
  }
  const auto add = [&]<std::size_t kRows>(std::size_t i) {
    for (std::size_t k = 0; k < shape.width; ++k) {
      AddRows<kRows>(matrix + i * shape.cols + begin, shape.cols, left + k * shape.rows + i,
                     end - begin, right + k * shape.cols + begin);
    }
  };
  std::size_t i = 0;
  for (; i + 4 <= shape.rows; i += 4) add.template operator()<4>(i);
  for (; i < shape.rows; ++i) add.template operator()<1>(i);
}

void OuterImpl(const LowRankShape& shape, const float* left, const float* right, Use use,
               std::size_t begin, std::size_t end, float* matrix) {
  const hn::ScalableTag<float> d;
  const hn::CappedTag<float, 1> one;
  const auto row_with = [&](auto tag, std::size_t i, std::size_t j) {
    auto product = hn::Mul(hn::Set(tag, left[i]), hn::LoadU(tag, right + j));
    for (std::size_t k = 1; k < shape.width; ++k) {
      product = hn::Add(product, hn::Mul(hn::Set(tag, left[k * shape.rows + i]),
                                         hn::LoadU(tag, right + k * shape.cols + j)));
    }
    float* entry = matrix + i * shape.cols + j;
    if (use == Use::kAdd) product = hn::Add(hn::LoadU(tag, entry), product);
    if (use == Use::kSubtract) product = hn::Sub(hn::LoadU(tag, entry), product);
    hn::StoreU(product, tag, entry);
  };
  const std::size_t lanes = hn::Lanes(d);
  for (std::size_t i = begin; i < end; ++i) {
    std::size_t j = 0;
    for (; j + lanes <= shape.cols; j += lanes) row_with(d, i, j);
    for (; j < shape.cols; ++j) row_with(one, i, j);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace weir::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weir::cpu {
namespace {

HWY_EXPORT(TimesRightImpl);
HWY_EXPORT(TimesLeftImpl);
HWY_EXPORT(OuterImpl);

constexpr std::size_t kPartValues = std::size_t{1} << 16;  // Taken by a thread at a time.
constexpr std::size_t kPartCols = 512;  // Their sums stay in the first-level cache.

std::size_t RowsOfAPart(const LowRankShape& shape) {
  return std::max<std::size_t>(kPartValues / std::max<std::size_t>(shape.cols, 1), 1);
}

void CheckSizes(const LowRankShape& shape, std::size_t matrix, std::size_t left,
                std::size_t right) {
  WEIR_CHECK(shape.width > 0 && matrix == shape.matrix_size());
  WEIR_CHECK(left == shape.left_size() && right == shape.right_size());
}

}  // namespace

void TimesRight(const LowRankShape& shape, std::span<const float> matrix,
                std::span<const float> right, std::span<float> left, ThreadPool* pool) {
  CheckSizes(shape, matrix.size(), left.size(), right.size());
  InRanges(shape.rows, RowsOfAPart(shape), pool, [&](std::size_t begin, std::size_t end) {
    HWY_DYNAMIC_DISPATCH(TimesRightImpl)
    (shape, matrix.data(), right.data(), begin, end, left.data());
  });
}

void TimesLeft(const LowRankShape& shape, std::span<const float> matrix,
               std::span<const float> left, std::span<float> right, ThreadPool* pool) {
  CheckSizes(shape, matrix.size(), left.size(), right.size());
  InRanges(shape.cols, kPartCols, pool, [&](std::size_t begin, std::size_t end) {
    HWY_DYNAMIC_DISPATCH(TimesLeftImpl)
    (shape, matrix.data(), left.data(), begin, end, right.data());
  });
}

void Outer(const LowRankShape& shape, std::span<const float> left, std::span<const float> right,
           Use use, std::span<float> matrix, ThreadPool* pool) {
  CheckSizes(shape, matrix.size(), left.size(), right.size());
  InRanges(shape.rows, RowsOfAPart(shape), pool, [&](std::size_t begin, std::size_t end) {
    HWY_DYNAMIC_DISPATCH(OuterImpl)
    (shape, left.data(), right.data(), use, begin, end, matrix.data());
  });
}

}  // namespace weir::cpu
#endif
