#pragma once

#include "compression/codec.h"

namespace weir {

/// Sends each value in 8 bits, as a multiple of its block's largest |x| / 127, rounded to the
/// nearest (block-wise quantisation, Dettmers et al. 2022, with even steps). A large value spoils
/// the resolution of its own block only.
class Int8Codec : public Codec {
 public:
  static constexpr std::size_t kBlock = 256;

  std::size_t MaxEncodedBytes(std::size_t n, double density) const override;
  std::size_t Encode(const StepContext& context, std::span<const float> values,
                     std::span<std::byte> payload) const override;
  void Check(std::span<const std::byte> payload, std::size_t n) const override;
  void Merge(std::span<const std::byte> payload, std::span<float> sum) const override;
  void Subtract(std::span<const std::byte> payload, std::span<float> rest) const override;
  std::optional<GpuCodecRule> gpu_rule() const override {
    return GpuCodecRule{.codec = GpuCodecRule::Codec::kInt8};
  }
};

}  // namespace weir
