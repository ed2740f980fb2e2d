#pragma once

#include "compression/codec.h"
#include "compression/sparse_payload.h"

namespace weir {

/// Sends the k largest |x| of a tensor as a sparse part, ties by lower index; decodes to zeros
/// elsewhere.
class TopKCodec : public Codec {
 public:
  /// `fixed_count` entries a tensor, or, when 0, the step's density of them.
  TopKCodec(std::size_t fixed_count, ValueType values);

  std::size_t MaxEncodedBytes(std::size_t n, double density) const override;
  std::size_t Encode(const StepContext& context, std::span<const float> values,
                     std::span<std::byte> payload) const override;
  std::size_t EncodeAndSubtract(const StepContext& context, std::span<float> rest,
                                std::span<std::byte> payload) const override;
  void Check(std::span<const std::byte> payload, std::size_t n) const override;
  void Merge(std::span<const std::byte> payload, std::span<float> sum) const override;
  void MergeMean(std::span<const std::span<const std::byte>> payloads,
                 std::span<float> mean) const override;
  void Subtract(std::span<const std::byte> payload, std::span<float> rest) const override;

 private:
  std::size_t CountOf(std::size_t n, double density) const;
  SparseEntries Select(const StepContext& context, std::span<const float> values) const;

  std::size_t fixed_count_;
  ValueType values_;
};

}  // namespace weir
