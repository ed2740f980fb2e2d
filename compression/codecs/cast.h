#pragma once

#include "compression/codec.h"

namespace weir {

/// Sends every value as fp32 ("dense"), fp16 or bf16, in a plain array whose payloads an all-reduce
/// can sum. Rounds to nearest even; too large values saturate.
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
  /// Set for fp32, which small tensors use beside those that send some of their entries.
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
