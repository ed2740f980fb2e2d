#pragma once

#include <vector>

#include "compression/codec.h"
#include "compression/random/counter_random.h"
#include "compression/wire/sparse_payload.h"

namespace weir {

/// Sends k random values of a tensor, from the same places on every rank. Each rank draws the
/// places itself, so no index is sent, only the step of the draw. Decodes to zeros elsewhere.
/// Unbiased: values are sent times n / k.
class RandomKCodec : public Codec {
 public:
  /// Sends `fixed_count` entries a tensor; when that is 0, the step's density of them.
  RandomKCodec(CounterRandom random, std::size_t fixed_count, ValueType values, bool unbiased);

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
  std::optional<std::size_t> EntriesIn(std::span<const std::byte> payload,
                                       std::size_t n) const override {
    return CheckedCount(payload, n);
  }
  std::optional<GpuCodecRule> gpu_rule() const override;

 private:
  /// Places and values of a tensor that are sent.
  struct Draw {
    std::vector<std::uint32_t> indices;
    std::vector<float> values;
  };

  Draw DrawFrom(const StepContext& context, std::span<const float> values) const;
  /// Replaces the values by those that a receiver decodes.
  std::size_t Write(const StepContext& context, Draw& draw, std::span<std::byte> payload) const;
  /// Returns the number of entries in a part. Throws as Check does.
  std::size_t CheckedCount(std::span<const std::byte> payload, std::size_t n) const;
  Draw Read(std::span<const std::byte> payload, std::size_t n) const;

  CounterRandom random_;
  std::size_t fixed_count_;
  ValueType values_;
  bool unbiased_;
};

}  // namespace weir
