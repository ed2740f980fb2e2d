#pragma once

#include "compression/codec.h"

namespace weir {

/// Sends the sign of every value, and one magnitude for all of them (1-bit SGD, Seide et al. 2014;
/// scaled sign, Karimireddy et al. 2019): 1, or the mean of |x|. Zeros count as positive. A
/// receiver makes +magnitude or -magnitude of each, so that encoding what was decoded gives the
/// same signs.
class OneBitCodec : public Codec {
 public:
  explicit OneBitCodec(bool scaled) : scaled_(scaled) {}

  std::size_t MaxEncodedBytes(std::size_t n, double density) const override;
  std::size_t Encode(const StepContext& context, std::span<const float> values,
                     std::span<std::byte> payload) const override;
  void Check(std::span<const std::byte> payload, std::size_t n) const override;
  void Merge(std::span<const std::byte> payload, std::span<float> sum) const override;
  void MergeMean(std::span<const std::span<const std::byte>> payloads,
                 std::span<float> mean) const override;
  void Subtract(std::span<const std::byte> payload, std::span<float> rest) const override;

 private:
  bool scaled_;
};

}  // namespace weir
