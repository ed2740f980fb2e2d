#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "compression/dgc/masking.h"

namespace weir {

/// DGC as one would first write it: a pass for the momentum, one for the velocity, one for the
/// magnitudes, and std::nth_element. The yardstick of the tests (same bits) and of the benchmark.
class DgcReference {
 public:
  DgcReference(Momentum momentum, float m, Masking masking, std::size_t n);

  /// Takes one step: afterwards indices() and values() hold the selection, in index order, and `u`,
  /// `v` have been settled as if the values had been sent without loss.
  void Step(std::span<const float> gradient, float gradient_scale, std::size_t k);

  const std::vector<std::uint32_t>& indices() const { return indices_; }
  const std::vector<float>& values() const { return values_; }

  std::vector<float> u;  ///< Empty with Momentum::kNone.
  std::vector<float> v;

 private:
  bool HasTail() const {
    return !u.empty() && (masking_ == Masking::kFlush || masking_ == Masking::kAuto);
  }
  void Accumulate(std::span<const float> gradient, float gradient_scale);
  void Select(std::size_t k);
  void Settle();

  Momentum momentum_;
  float m_;
  Masking masking_;
  std::vector<float> direction_;
  std::vector<float> totals_;  ///< What entries are selected by.
  std::vector<float> sends_;   ///< What they would send.
  std::vector<std::uint32_t> keys_;
  std::vector<std::uint32_t> indices_;
  std::vector<float> values_;
};

}  // namespace weir
