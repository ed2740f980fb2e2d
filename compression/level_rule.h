#pragma once

#include <cstdint>

/// Rule that turns values into levels, -s to s, of their scale (compression/codecs/quantizer.h).
namespace weir {

inline constexpr int kMostLevels = 127;

/// Coding of levels (compression/codecs/level_coding.h): tile by tile in the shorter of two ways,
/// or always in equally many bits each, which is several times as fast to write and read.
enum class LevelForm : std::uint8_t { kShorter, kPacked };

struct LevelRule {
  enum class Spacing : std::uint8_t {
    kLinear,       ///< 0, 1/s, ..., 1 of the scale.
    kPowersOfTwo,  ///< 0, 2^(1-s), ..., 1/2, 1.
  };
  enum class Scale : std::uint8_t {
    kLargest,  ///< |x|.
    kNorm,     ///< L2.
    /// The largest |x|, but at most so many standard deviations, as TernGrad clips (Wen et al.
    /// 2017): values above become the scale.
    kClipped,
  };
  enum class Rounding : std::uint8_t { kRandom, kNearest };

  int levels = 1;  ///< s, 1 to kMostLevels.
  Spacing spacing = Spacing::kLinear;
  Scale scale = Scale::kLargest;
  Rounding rounding = Rounding::kRandom;
  double deviations = 2.5;  ///< For kClipped.
  LevelForm form = LevelForm::kShorter;
};

}  // namespace weir
