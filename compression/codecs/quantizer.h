#pragma once

#include <array>
#include <vector>

#include "compression/codec.h"
#include "compression/codecs/level_coding.h"
#include "compression/level_rule.h"
#include "compression/random/counter_random.h"

namespace weir {

/// Sends each value as one of a few levels of the tensor's scale, -s to s (docs/wire-format.md,
/// "Level part").
///
/// Random rounding is right on average: QSGD (Alistarh et al. 2017) with evenly spaced levels 0,
/// 1/s, ..., 1; natural dithering (Horvath et al. 2019) with powers of two, 0, 2^(1-s), ..., 1/2,
/// 1. The random numbers depend on the tensor, the step and the entry alone, so the same values
/// give the same bytes everywhere.
class QuantizerCodec : public Codec {
 public:
  using Rule = LevelRule;
  using Spacing = Rule::Spacing;
  using Scale = Rule::Scale;
  using Rounding = Rule::Rounding;

  QuantizerCodec(CounterRandom random, const Rule& rule);

  std::size_t MaxEncodedBytes(std::size_t n, double density) const override;
  std::size_t Encode(const StepContext& context, std::span<const float> values,
                     std::span<std::byte> payload) const override;
  std::size_t EncodeAndSubtract(const StepContext& context, std::span<float> rest,
                                std::span<std::byte> payload) const override;
  void Check(std::span<const std::byte> payload, std::size_t n) const override;
  void Merge(std::span<const std::byte> payload, std::span<float> sum) const override;
  void Subtract(std::span<const std::byte> payload, std::span<float> rest) const override;
  std::optional<GpuCodecRule> gpu_rule() const override;

  /// Number of bytes that a sender with this rule wrote for n values, in room for MaxEncodedBytes.
  static std::size_t EncodedBytes(const Rule& rule, std::size_t n, std::span<const std::byte> room);

 private:
  /// Values of the levels -kMostLevels to kMostLevels.
  using Table = std::array<float, 2 * kMostLevels + 1>;
  struct Decoded {
    std::vector<std::int8_t> levels;
    Table table;
  };

  float ScaleOf(std::span<const float> values) const;
  Table TableOf(float scale) const;
  std::vector<std::int8_t> Round(const StepContext& context, float scale,
                                 std::span<const float> values) const;
  std::size_t Write(float scale, std::span<const std::int8_t> levels,
                    std::span<std::byte> payload) const;
  Decoded Read(std::span<const std::byte> payload, std::size_t n) const;

  CounterRandom random_;
  Rule rule_;
};

}  // namespace weir
