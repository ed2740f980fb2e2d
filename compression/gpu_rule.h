#pragma once

#include "compression/dgc_math.h"
#include "compression/value_type.h"

namespace weir {

/// What kernels need to know to do a compressor's work on a GPU (compression/gpu_kernels.h), beside
/// where its memory lies.
struct GpuRule {
  enum class Kind : bool { kDgc, kDenseMomentum };
  Kind kind = Kind::kDgc;
  Momentum momentum = Momentum::kVanilla;
  float m = 0.9f;
  bool masking = true;             ///< Of kDgc.
  bool gain_compensation = false;  ///< Of kDgc; see DgcSettings.
  ValueType values = ValueType::kFloat16;
};

}  // namespace weir
