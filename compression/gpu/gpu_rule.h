#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <variant>

#include "compression/dgc/dgc_math.h"
#include "compression/level_rule.h"
#include "compression/wire/value_type.h"
#include "weir/dtype.h"

/// What kernels need to know to do a compressor's work on a GPU (compression/gpu/gpu_kernels.h),
/// beside where its memory lies.
namespace weir {

/// Deep Gradient Compression (compression/dgc/dgc.h).
struct GpuDgcRule {
  Momentum momentum = Momentum::kVanilla;
  float m = 0.9f;
  bool masking = true;
  bool gain_compensation = false;  ///< See DgcSettings.
  ValueType values = ValueType::kFloat16;
  DType state = DType::kFloat32;  ///< Of u and v: or kBFloat16.
  std::uint32_t seed = 0;         ///< Of their roundings.
};

/// What DGC does with tensors that stay dense (compression/dgc/dense_momentum.h).
struct GpuDenseRule {
  Momentum momentum = Momentum::kVanilla;
  float m = 0.9f;
  ValueType values = ValueType::kFloat16;
};

/// A codec, and the memory around it (compression/memory/).
struct GpuCodecRule {
  enum class Codec : std::uint8_t { kCast, kOneBit, kInt8, kTopK, kRandomK, kLevels };
  static constexpr std::size_t kCodecs = 6;
  enum class Memory : std::uint8_t {
    kNone,
    kNesterov,  ///< NesterovMomentum.
    kSignum,    ///< Signum.
  };
  Codec codec = Codec::kCast;
  DType dtype = DType::kFloat32;  ///< kCast: of the payload, or kFloat16, kBFloat16.
  bool scaled = false;            ///< kOneBit: the magnitude is the mean of the entries' own.
  // Of those that select: how many, or 0 (EntriesToSend), and how their values travel.
  std::size_t fixed_count = 0;
  ValueType values = ValueType::kFloat16;  ///< Or kFloat32.
  bool unbiased = false;                   ///< kRandomK: values are sent times n / k.
  LevelRule levels{};                      ///< kLevels: QuantizerCodec's.
  std::array<std::uint32_t, 2> key{};      ///< Of CounterRandom, where numbers are drawn.
  Memory memory = Memory::kNone;
  float mu = 0.0f;
  bool feedback = false;  ///< ErrorFeedback, behind the momentum.

  constexpr bool selects() const { return codec == Codec::kTopK || codec == Codec::kRandomK; }
};

using GpuRule = std::variant<GpuDgcRule, GpuDenseRule, GpuCodecRule>;

/// Tensors of a bucket whose rules are of one kind are one GpuBucketCompressor's: a kind for each
/// alternative, and for each codec.
inline constexpr std::size_t kGpuKinds = std::variant_size_v<GpuRule> - 1 + GpuCodecRule::kCodecs;
constexpr std::size_t KindOf(const GpuRule& rule) {
  const auto* const codec = std::get_if<GpuCodecRule>(&rule);
  return rule.index() + (codec == nullptr ? 0 : static_cast<std::size_t>(codec->codec));
}
static_assert(std::is_same_v<std::variant_alternative_t<std::variant_size_v<GpuRule> - 1, GpuRule>,
                             GpuCodecRule>);  // The last one.

}  // namespace weir
