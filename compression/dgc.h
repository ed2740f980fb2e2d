#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "compression/compressor.h"
#include "compression/cpu/dgc_step.h"
#include "compression/sparse_payload.h"
#include "compression/state_buffer.h"

namespace weir {

/// What a user chooses about DGC, the same for all tensors.
struct DgcSettings {
  cpu::DgcRule rule;
  ValueType values = ValueType::kFloat16;
  /// Divide the aggregate by MaskingGain at T = 1 / density: the step stays as long as dense
  /// momentum SGD's while the density falls. An option beyond the paper.
  bool gain_compensation = false;
};

/// Deep Gradient Compression of one tensor (Lin et al., ICLR 2018): local momentum u and
/// accumulated velocity v, of which exactly K = max(1, round(density * n)) entries travel in a
/// step. What rounding to fp16, or to fewer bits, loses stays in v; fp32 values leave exactly 0.
///
/// In the dense phase the scaled gradient is exchanged as it is and Finish keeps momentum in the
/// same u, which the first compressed step takes over, with v still 0. Results do not depend on
/// StepContext::pool. Not thread-safe but for Merge.
class Dgc final : public Compressor {
 public:
  /// 1 <= n < 2^32.
  Dgc(const DgcSettings& settings, std::size_t n);

  std::size_t MaxEncodedBytes(double density) const override;
  std::size_t Encode(const StepContext& context, std::span<const float> gradient,
                     std::span<std::byte> payload) override;
  void Check(std::span<const std::byte> payload) const override;
  void Merge(std::span<const std::byte> payload, std::span<float> sum) const override;
  void MergeMean(std::span<const std::span<const std::byte>> payloads,
                 std::span<float> mean) const override;
  std::optional<ValueType> entry_values() const override { return EntryValues(settings_.values); }
  SparseEntries Entries(std::span<const std::byte> payload) const override;
  void Finish(const StepContext& context, std::span<float> mean) override;
  void Revert() override { step_.Undo(); }
  /// Gradient entries, means of the dense phase, and overflowed entries of v.
  std::uint64_t non_finite_entries() const override {
    return non_finite_means_ + step_.non_finite_entries();
  }
  /// The smallest |v| that was sent.
  float threshold() const override { return step_.kth_magnitude(); }
  /// "momentum" (u, none with Momentum::kNone) and "velocity" (v).
  std::vector<StateArray> State() override;
  void Restored() override { step_.Forget(); }

 private:
  SparseForm Form() const;

  DgcSettings settings_;
  StateBuffer u_;
  StateBuffer v_;
  cpu::DgcStep step_;
  std::uint64_t non_finite_means_ = 0;
};

}  // namespace weir
