#pragma once

#include <cstdint>

namespace weir {

/// The number of a compressor in frame headers. Numbers are never reused; docs/wire-format.md lists
/// them.
enum class CodecId : std::uint8_t {
  kDense = 0,
  kFloat16 = 1,
  kBFloat16 = 2,
  kTopK = 3,
  kRandomK = 4,
  kOneBit = 5,
  kDithering = 6,
  kDgc = 7,
  kTernGrad = 8,
  kQuant3 = 9,
  kInt8 = 10,
  kThreshold = 11,
  kSignum = 12,
  kPowerSgd = 13,
  kUnlisted = 255,  ///< A compressor from outside this repository.
};

}  // namespace weir
