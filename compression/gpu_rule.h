#pragma once

#include <cstdint>
#include <variant>

#include "compression/dgc_math.h"
#include "compression/value_type.h"
#include "weir/dtype.h"

/// What kernels need to know to do a compressor's work on a GPU (compression/gpu_kernels.h), beside
/// where its memory lies.
namespace weir {

/// Deep Gradient Compression (compression/dgc.h).
struct GpuDgcRule {
  Momentum momentum = Momentum::kVanilla;
  float m = 0.9f;
  bool masking = true;
  bool gain_compensation = false;  ///< See DgcSettings.
  ValueType values = ValueType::kFloat16;
};

/// What DGC does with tensors that stay dense (compression/dense_momentum.h).
struct GpuDenseRule {
  Momentum momentum = Momentum::kVanilla;
  float m = 0.9f;
  ValueType values = ValueType::kFloat16;
};

/// A codec, and the memory around it (compression/memory/).
struct GpuCodecRule {
  enum class Codec : std::uint8_t { kCast, kOneBit, kInt8 };
  enum class Momentum : std::uint8_t {
    kNone,
    kNesterov,  ///< NesterovMomentum.
    kSignum,    ///< Signum.
  };
  Codec codec = Codec::kCast;
  DType dtype = DType::kFloat32;  ///< kCast: of the payload, or kFloat16, kBFloat16.
  bool scaled = false;            ///< kOneBit: the magnitude is the mean of the entries' own.
  Momentum momentum = Momentum::kNone;
  float mu = 0.0f;
  bool feedback = false;  ///< ErrorFeedback, behind the momentum.
};

using GpuRule = std::variant<GpuDgcRule, GpuDenseRule, GpuCodecRule>;

}  // namespace weir
