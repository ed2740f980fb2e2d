#include "common/half.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace weir {
namespace {

constexpr std::uint32_t kHalves = 1u << 16;

/// Value of a half by its definition, in double and without bit tricks.
double ValueOfHalf(std::uint32_t half) {
  const int exponent = static_cast<int>(half >> 10 & 31);
  const double mantissa = half & 0x3ff;
  const double sign = half & 0x8000 ? -1.0 : 1.0;
  if (exponent == 31) {
    return mantissa == 0 ? sign * std::numeric_limits<double>::infinity()
                         : std::numeric_limits<double>::quiet_NaN();
  }
  if (exponent == 0) return sign * std::ldexp(mantissa, -24);
  return sign * std::ldexp(1024.0 + mantissa, exponent - 25);
}

// While compiling, too: that is how nvcc can take the same functions for the device.
static_assert(FloatToHalf(1.0f) == 0x3c00 && FloatToHalf(0x1p-25f) == 0 &&
              FloatToHalf(0x1.8p-25f) == 1 && FloatToHalf(65520.0f) == 0x7c00);
static_assert(HalfToFloat(0x0001) == 0x1p-24f && HalfToFloat(0xfbff) == -65504.0f);
static_assert(BFloat16ToFloat(0x3f80) == 1.0f && FloatToBFloat16(-1.00390625f) == 0xbf80);

std::uint32_t Bits(float value) { return std::bit_cast<std::uint32_t>(value); }

TEST(Half, EveryHalfHasItsDefinedValue) {
  for (std::uint32_t half = 0; half < kHalves; ++half) {
    const float value = HalfToFloat(static_cast<std::uint16_t>(half));
    const double expected = ValueOfHalf(half);
    if (std::isnan(expected)) {
      EXPECT_TRUE(std::isnan(value)) << half;
    } else {
      EXPECT_EQ(value, expected) << half;
      EXPECT_EQ(std::signbit(value), (half & 0x8000) != 0) << half;
    }
  }
}

TEST(Half, EveryHalfSurvivesTheWayToFloatAndBack) {
  for (std::uint32_t half = 0; half < kHalves; ++half) {
    const bool is_nan = (half & 0x7fff) > 0x7c00;
    const std::uint32_t quiet = is_nan ? half | 0x0200 : half;
    EXPECT_EQ(FloatToHalf(HalfToFloat(static_cast<std::uint16_t>(half))), quiet) << half;
  }
}

/// Around every finite half: its own value, the midpoint to the next one, and the floats just below
/// and above that midpoint.
TEST(Half, RoundsToNearestAndTiesToEven) {
  for (std::uint32_t half = 0; half < 0x7bff; ++half) {
    const auto low = static_cast<std::uint16_t>(half);
    const auto high = static_cast<std::uint16_t>(half + 1);
    const auto middle = static_cast<float>((ValueOfHalf(low) + ValueOfHalf(high)) / 2);
    const std::uint16_t even = half % 2 == 0 ? low : high;
    EXPECT_EQ(FloatToHalf(middle), even) << half;
    EXPECT_EQ(FloatToHalf(-middle), even | 0x8000) << half;
    EXPECT_EQ(FloatToHalf(std::nextafter(middle, 0.0f)), low) << half;
    EXPECT_EQ(FloatToHalf(std::nextafter(middle, 1e9f)), high) << half;
  }
}

TEST(Half, OverflowsToInfinityAtTheMidpointAboveTheLargest) {
  EXPECT_EQ(FloatToHalf(65504.0f), 0x7bff);
  EXPECT_EQ(FloatToHalf(std::nextafter(65520.0f, 0.0f)), 0x7bff);
  EXPECT_EQ(FloatToHalf(65520.0f), 0x7c00);
  EXPECT_EQ(FloatToHalf(65536.0f), 0x7c00);
  EXPECT_EQ(FloatToHalf(-std::numeric_limits<float>::max()), 0xfc00);
  EXPECT_EQ(FloatToHalf(std::numeric_limits<float>::infinity()), 0x7c00);
}

TEST(Half, SmallFloatsBecomeZeroOfTheirSign) {
  EXPECT_EQ(FloatToHalf(std::numeric_limits<float>::denorm_min()), 0x0000);
  EXPECT_EQ(FloatToHalf(-std::numeric_limits<float>::min()), 0x8000);
}

TEST(BFloat16, EveryValueSurvivesTheWayToFloatAndBack) {
  for (std::uint32_t bits = 0; bits < kHalves; ++bits) {
    const float value = BFloat16ToFloat(static_cast<std::uint16_t>(bits));
    EXPECT_EQ(Bits(value), bits << 16);
    const bool is_nan = (bits & 0x7fff) > 0x7f80;
    EXPECT_EQ(FloatToBFloat16(value), is_nan ? bits | 0x0040 : bits) << bits;
  }
}

TEST(BFloat16, RoundsToNearestAndTiesToEven) {
  for (std::uint32_t bits = 0; bits < 0x7f80; ++bits) {
    const std::uint32_t middle = bits << 16 | 0x8000;
    EXPECT_EQ(FloatToBFloat16(std::bit_cast<float>(middle)), bits + (bits & 1)) << bits;
    EXPECT_EQ(FloatToBFloat16(std::bit_cast<float>(middle - 1)), bits) << bits;
    EXPECT_EQ(FloatToBFloat16(std::bit_cast<float>(middle + 1)), bits + 1) << bits;
  }
}

TEST(BFloat16, NaNWithOnlyLowBitsStaysNaN) {
  EXPECT_TRUE(std::isnan(BFloat16ToFloat(FloatToBFloat16(std::bit_cast<float>(0x7f800001u)))));
}

}  // namespace
}  // namespace weir
