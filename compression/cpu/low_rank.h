#pragma once

#include <cstddef>
#include <span>

#include "common/threads/thread_pool.h"

namespace weir::cpu {

/// A matrix of rows x cols entries, row by row, and its two thin factors: a left one of rows x
/// width and a right one of cols x width entries, each column by column, so that the matrix is
/// about left * right^T.
///
/// The shape alone decides the order of every sum, so results are the same for every thread
/// count, instruction set and cache. BLAS and Eigen do not promise that, because their blocks
/// depend on the size of the caches. All spans have exactly the sizes that the shape says;
/// `pool` may be null. Thread-safe.
struct LowRankShape {
  std::size_t rows = 0;
  std::size_t cols = 0;
  std::size_t width = 0;

  std::size_t matrix_size() const { return rows * cols; }
  std::size_t left_size() const { return rows * width; }
  std::size_t right_size() const { return cols * width; }
};

/// left = matrix * right, in 8 running sums an entry.
void TimesRight(const LowRankShape& shape, std::span<const float> matrix,
                std::span<const float> right, std::span<float> left, ThreadPool* pool = nullptr);

/// right = matrix^T * left, the rows added one after the other.
void TimesLeft(const LowRankShape& shape, std::span<const float> matrix,
               std::span<const float> left, std::span<float> right, ThreadPool* pool = nullptr);

/// Use of the product of two factors.
enum class Use { kStore, kAdd, kSubtract };

/// matrix = left * right^T, or matrix += or -= that.
void Outer(const LowRankShape& shape, std::span<const float> left, std::span<const float> right,
           Use use, std::span<float> matrix, ThreadPool* pool = nullptr);

}  // namespace weir::cpu
