#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "compression/cpu/radix_select.h"

namespace weir::cpu {

/// Entries of one index range that may be among its k largest by magnitude, in index order.
///
/// A scan appends every entry whose magnitude is not below threshold(). A full list drops all but
/// the k best (ties: the lower index) and raises the threshold above the k-th, because later
/// entries must be strictly larger to matter. So the list holds the range's k best entries that
/// reach the scan's first threshold, whatever that is. Not thread-safe.
class CandidateList {
 public:
  /// MakeRoom grants this many entries at a time: a SIMD kernel's block, 4 vectors of 16.
  static constexpr std::size_t kBlock = 64;

  /// Empties the list for the next scan of a range of `range` entries, which needs at most `k` >= 1
  /// of them. Allocates only when k or the range changes much.
  void Reset(std::size_t k, std::size_t range, float threshold);

  /// Makes room, for kernels that append: kBlock entries after size(), which may be written beyond
  /// what is then committed. May raise threshold().
  void MakeRoom() {
    if (size_ + kBlock > capacity_) Compact();
  }
  std::uint32_t* next_index() { return indices_.get() + size_; }
  float* next_value() { return values_.get() + size_; }
  void Commit(std::size_t count) { size_ += count; }

  void Append(std::uint32_t index, float value) {
    *next_index() = index;
    *next_value() = value;
    Commit(1);
  }

  float threshold() const { return threshold_; }
  std::size_t size() const { return size_; }
  std::span<const std::uint32_t> indices() const { return {indices_.get(), size_}; }
  std::span<const float> values() const { return {values_.get(), size_}; }

 private:
  void Compact();

  std::size_t k_ = 1;
  float threshold_ = 0.0f;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
  std::unique_ptr<std::uint32_t[]> indices_;
  std::unique_ptr<float[]> values_;
  RadixSelect select_;
};

}  // namespace weir::cpu
