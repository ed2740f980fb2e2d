#pragma once

#include "compression/codec.h"

namespace weir {

/// Sends every value, cast to fp32 ("dense"), fp16 or bf16, as a plain array, so that an all-reduce
/// can sum payloads. Rounds to nearest even; what is too large saturates.
class CastCodec : public Codec {
 public:
  /// kFloat32, kFloat16 or kBFloat16.
  explicit CastCodec(DType dtype);

  std::size_t MaxEncodedBytes(std::size_t n, double density) const override;
  std::size_t Encode(const StepContext& context, std::span<const float> values,
                     std::span<std::byte> payload) const override;
  void Check(std::span<const std::byte> payload, std::size_t n) const override;
  void Merge(std::span<const std::byte> payload, std::span<float> sum) const override;
  void Subtract(std::span<const std::byte> payload, std::span<float> rest) const override;
  /// Of fp32, which is what small tensors beside those that send some of their entries travel as.
  std::optional<ValueType> entry_values() const override;
  SparseEntries Entries(std::span<const std::byte> payload, std::size_t n) const override;
  std::optional<DType> summable() const override { return dtype_; }
  std::optional<GpuCodecRule> gpu_rule() const override {
    return GpuCodecRule{.codec = GpuCodecRule::Codec::kCast, .dtype = dtype_};
  }

 private:
  DType dtype_;
};

}  // namespace weir
