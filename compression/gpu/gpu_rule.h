#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <variant>

#include "compression/dgc/masking.h"
#include "compression/level_rule.h"
#include "compression/wire/value_type.h"
#include "weir/dtype.h"

/// Rules by which kernels do a compressor's work on a GPU (compression/gpu/gpu_kernels.h): all that
/// they need to know, besides the place of its memory.
namespace weir {

/// Rule of Deep Gradient Compression (compression/dgc/dgc.h).
struct GpuDgcRule {
  Momentum momentum = Momentum::kVanilla;
  float m = 0.9f;
  Masking masking = Masking::kAll;
  bool gain_compensation = false;  ///< See DgcSettings.
  ValueType values = ValueType::kFloat16;
  DType state = DType::kFloat32;  ///< Type of u and v: kFloat32 or kBFloat16.
  std::uint32_t seed = 0;         ///< Seed of their roundings.
};

/// Rule of DGC for tensors that stay dense (compression/dgc/dense_momentum.h).
struct GpuDenseRule {
  Momentum momentum = Momentum::kVanilla;
  float m = 0.9f;
  ValueType values = ValueType::kFloat16;
};

/// Rule of a codec, and of the memory around it (compression/memory/).
struct GpuCodecRule {
  enum class Codec : std::uint8_t { kCast, kOneBit, kInt8, kTopK, kRandomK, kLevels };
  static constexpr std::size_t kCodecs = 6;
  enum class Memory : std::uint8_t {
    kNone,
    kNesterov,  ///< NesterovMomentum.
    kSignum,    ///< Signum.
  };
  Codec codec = Codec::kCast;
  DType dtype = DType::kFloat32;  ///< kCast: type of the payload: kFloat32, kFloat16 or kBFloat16.
  bool scaled = false;            ///< kOneBit: the magnitude is the mean of the entries' own.
  // Codecs that select: the number of entries, or 0 (EntriesToSend), and the type of their values.
  std::size_t fixed_count = 0;
  ValueType values = ValueType::kFloat16;  ///< kFloat16 or kFloat32.
  bool unbiased = false;                   ///< kRandomK: values are multiplied by n / k.
  LevelRule levels{};                      ///< kLevels: rule of QuantizerCodec.
  std::array<std::uint32_t, 2> key{};      ///< Key of CounterRandom, if numbers are drawn.
  Memory memory = Memory::kNone;
  float mu = 0.0f;
  bool feedback = false;  ///< True: ErrorFeedback, behind the momentum.

  constexpr bool selects() const { return codec == Codec::kTopK || codec == Codec::kRandomK; }
};

using GpuRule = std::variant<GpuDgcRule, GpuDenseRule, GpuCodecRule>;

/// Number of kinds of rules: one for each codec, and for each alternative but GpuCodecRule. Tensors
/// of a bucket whose rules are of one kind share one GpuBucketCompressor.
inline constexpr std::size_t kGpuKinds = std::variant_size_v<GpuRule> - 1 + GpuCodecRule::kCodecs;
constexpr std::size_t KindOf(const GpuRule& rule) {
  const auto* const codec = std::get_if<GpuCodecRule>(&rule);
  return rule.index() + (codec == nullptr ? 0 : static_cast<std::size_t>(codec->codec));
}
static_assert(std::is_same_v<std::variant_alternative_t<std::variant_size_v<GpuRule> - 1, GpuRule>,
                             GpuCodecRule>);  // GpuCodecRule is the last one.

}  // namespace weir
