#pragma once

#include <memory>
#include <vector>

#include "compression/compressor.h"

namespace weir {

/// Nesterov momentum in front of another compressor, on every rank (BytePS):
///
///   m = mu * m + g;  g' = g + mu * m;  compress g'
///
/// In the dense phase, and so at the hand-off, Finish feeds m with the mean over ranks instead.
/// The optimizer's own momentum must be 0. State: "momentum", n floats, and the inner
/// compressor's. Not thread-safe (see Compressor).
class NesterovMomentum : public Compressor {
 public:
  NesterovMomentum(std::unique_ptr<Compressor> inner, std::size_t n, float mu);

  std::size_t MaxEncodedBytes(double density) const override;
  std::size_t Encode(const StepContext& context, std::span<const float> gradient,
                     std::span<std::byte> payload) override;
  void Check(std::span<const std::byte> payload) const override;
  void Merge(std::span<const std::byte> payload, std::span<float> sum) const override;
  void MergeMean(std::span<const std::span<const std::byte>> payloads,
                 std::span<float> mean) const override;
  void Finish(const StepContext& context, std::span<float> mean) override;
  bool remembers_means() const override { return inner_->remembers_means(); }
  /// Keeps the gradient in m; the inner compressor takes back what was sent.
  void Revert() override { inner_->Revert(); }
  std::optional<ValueType> entry_values() const override { return inner_->entry_values(); }
  SparseEntries Entries(std::span<const std::byte> payload) const override {
    return inner_->Entries(payload);
  }
  std::optional<DType> summable() const override { return inner_->summable(); }
  std::optional<GpuRule> gpu_rule() const override;
  std::uint64_t non_finite_entries() const override;
  float threshold() const override { return inner_->threshold(); }
  std::optional<std::size_t> EntriesIn(std::span<const std::byte> payload) const override {
    return inner_->EntriesIn(payload);
  }
  std::span<const float> residual() const override { return inner_->residual(); }
  std::vector<StateArray> State() override;
  void Restored() override { inner_->Restored(); }

 private:
  /// One step of the recursion; `out` may be `gradient`.
  void Step(float mu, float scale, std::span<const float> gradient, std::span<float> out);

  std::unique_ptr<Compressor> inner_;
  float mu_;
  std::vector<float> momentum_;
  std::vector<float> direction_;  ///< Scratch: g'.
  std::uint64_t non_finite_ = 0;
};

}  // namespace weir
