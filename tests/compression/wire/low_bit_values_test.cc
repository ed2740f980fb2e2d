#include "compression/wire/low_bit_values.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "common/byte_stream.h"
#include "compression/wire/value_coding.h"
#include "tests/compression/wire/sparse_sample.h"
#include "weir/error.h"

namespace weir {
namespace {

using test::kLowBitTypes;

using Bytes = std::vector<std::byte>;
using Values = std::vector<float>;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// Returns the encoded bytes; `values` become the decoded ones. The exponent is returned beside.
Bytes Encode(Values& values, ValueType type, int* exponent = nullptr) {
  Bytes bytes(LowBitBytes(values.size(), type));
  const int own = ScaleExponent(values, type);
  EncodeLowBit(values, type, own, bytes.data());
  CheckLowBit(bytes, values.size(), type);
  if (exponent != nullptr) *exponent = own;
  return bytes;
}

Values Decode(const Bytes& bytes, std::size_t count, ValueType type, int exponent) {
  Values values(count);
  DecodeLowBit(bytes, type, PowerOfTwo(exponent), 0, values);
  return values;
}

Values Normal(std::size_t n, unsigned seed) {
  std::mt19937 random(seed);
  return test::RandomSample(n, n, random).values;
}

TEST(LowBitValues, TakeTheBitsThatTheyAreNamedAfter) {
  EXPECT_EQ(LowBitBytes(1000, ValueType::kInt8), 2 + 1000u);
  EXPECT_EQ(LowBitBytes(1000, ValueType::kInt4), 2 + 500u);
  EXPECT_EQ(LowBitBytes(1000, ValueType::kInt2), 4 + 250u);
  EXPECT_EQ(LowBitBytes(1, ValueType::kInt4), 2 + 1u);
  EXPECT_EQ(LowBitBytes(5, ValueType::kInt2), 4 + 2u);
  for (const ValueType type : kLowBitTypes) EXPECT_EQ(LowBitBytes(0, type), 0u);
}

TEST(LowBitValues, TheSenderKnowsWhatIsDecodedToTheBit) {
  for (const ValueType type : kLowBitTypes) {
    for (const std::size_t n : {1, 2, 3, 4, 5, 511, 513, 2000}) {
      Values values = Normal(n, static_cast<unsigned>(n));
      int exponent = 0;
      const Bytes bytes = Encode(values, type, &exponent);
      const Values decoded = Decode(bytes, n, type, exponent);
      ASSERT_EQ(decoded, values) << Name(type) << " " << n;
      Values negated(n);
      DecodeLowBit(bytes, type, -PowerOfTwo(exponent), 0, negated);
      for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(negated[i], -decoded[i]);
      for (const std::size_t first : {n / 2, n - 1}) {
        Values rest(n - first);
        DecodeLowBit(bytes, type, PowerOfTwo(exponent), first, rest);
        ASSERT_TRUE(std::ranges::equal(rest, std::span(decoded).subspan(first)));
      }
    }
  }
}

TEST(LowBitValues, LevelsAreNearestAndTheOutermostReachesTheLargest) {
  for (const auto& [type, most] : {std::pair{ValueType::kInt8, 127}, {ValueType::kInt4, 7}}) {
    for (const float scale : {1e-30f, 1.0f, 3e37f}) {
      Values values = Normal(3000, 5);
      for (float& value : values) value *= scale;
      const Values before = values;
      Encode(values, type);
      float largest = 0;
      for (const float value : before) largest = std::max(largest, std::abs(value));
      // The step is a half, so it may be a little longer than it had to be.
      const float step = largest / static_cast<float>(most) * (1 + std::ldexp(1.0f, -9));
      for (std::size_t i = 0; i < values.size(); ++i) {
        ASSERT_LE(std::abs(values[i] - before[i]), step / 2) << Name(type);
      }
    }
  }
}

TEST(LowBitValues, TwoBitsAreASignAndTwoMeans) {
  Values values = {1, -2, 3, -10, 12, 2};  // The mean magnitude is 5.
  const int exponent = ScaleExponent(values, ValueType::kInt2);
  Bytes bytes(LowBitBytes(6, ValueType::kInt2));
  EncodeLowBit(values, ValueType::kInt2, exponent, bytes.data());
  EXPECT_EQ(values, (Values{2, -2, 2, -11, 11, 2}));
  const int codes = std::to_integer<int>(bytes[4]) | std::to_integer<int>(bytes[5]) << 8;
  EXPECT_EQ(codes, 0b00'01'11'00'10'00);
}

TEST(LowBitValues, TwoBitsLoseNothingOfEqualMagnitudes) {
  for (const float magnitude : {1e-30f, 0.5f, 3e38f}) {
    for (const std::size_t n : {1, 2, 1000}) {
      Values values(n, std::bit_cast<float>(std::bit_cast<std::uint32_t>(magnitude) & 0xffffe000u));
      values.back() *= -1;
      const Values before = values;
      Encode(values, ValueType::kInt2);
      EXPECT_EQ(values, before) << magnitude;
    }
  }
}

/// The residual is never longer than what was to be sent: error feedback converges.
TEST(LowBitValues, WhatIsLeftIsShorterThanWhatWas) {
  for (const ValueType type : kLowBitTypes) {
    for (unsigned seed = 0; seed < 20; ++seed) {
      Values values = Normal(1000, seed);
      values[seed] *= static_cast<float>(1 << seed);  // One is far out.
      const Values before = values;
      Encode(values, type);
      double was = 0;
      double left = 0;
      for (std::size_t i = 0; i < values.size(); ++i) {
        was += double{before[i]} * before[i];
        const double rest = double{before[i]} - values[i];
        left += rest * rest;
      }
      EXPECT_LT(left, was) << Name(type) << " " << seed;
    }
  }
}

TEST(LowBitValues, TinyHugeAndBrokenValuesStayFiniteWithTheirSign) {
  const float tiny = std::numeric_limits<float>::denorm_min();
  const float huge = std::numeric_limits<float>::max();
  for (const ValueType type : kLowBitTypes) {
    for (const Values& given :
         {Values{tiny, -tiny, 3 * tiny}, Values{huge, -huge, 1, huge / 3}, Values{huge},
          Values{-tiny}, Values{kInfinity, -kInfinity, 2.5f}, Values{kInfinity},
          Values{std::nanf(""), -3.0f}, Values{0, -0.0f}}) {
      Values values = given;
      int exponent = 0;
      const Bytes bytes = Encode(values, type, &exponent);
      EXPECT_EQ(Decode(bytes, given.size(), type, exponent), values);
      for (std::size_t i = 0; i < given.size(); ++i) {
        EXPECT_TRUE(std::isfinite(values[i])) << Name(type) << " of " << given[i];
        EXPECT_FALSE(given[i] > 0 && values[i] < 0) << Name(type) << " of " << given[i];
        EXPECT_FALSE(given[i] < 0 && values[i] > 0) << Name(type) << " of " << given[i];
      }
    }
    Values zeros(9, 0.0f);
    Encode(zeros, type);
    EXPECT_EQ(zeros, Values(9, 0.0f));
    Values least = {tiny};
    Encode(least, type);
    EXPECT_EQ(least, Values{tiny}) << Name(type);
  }
}

void ExpectRefused(Bytes bytes, std::size_t count, ValueType type, std::size_t at,
                   std::uint16_t half) {
  StoreLittleEndian(bytes.data() + at, half);
  EXPECT_THROW(CheckLowBit(bytes, count, type), Corrupt) << Name(type) << " " << half;
}

TEST(LowBitCorruption, StepsThatNoSenderWritesAreRefused) {
  for (const auto& [type, longest] :
       {std::pair{ValueType::kInt8, 0x6008}, {ValueType::kInt4, 0x7092}}) {
    Values values = Normal(5, 1);
    Bytes bytes = Encode(values, type);
    for (const int half : {0x8000, 0xbc00, 0x7c00, 0x7e00, longest + 1}) {
      ExpectRefused(bytes, 5, type, 0, static_cast<std::uint16_t>(half));
    }
    ExpectRefused(bytes, 5, type, 0, 0);  // Levels of nothing.
    StoreLittleEndian(bytes.data(), static_cast<std::uint16_t>(longest));
    EXPECT_NO_THROW(CheckLowBit(bytes, 5, type));
    for (const float value : Decode(bytes, 5, type, kMaxScaleExponent)) {
      EXPECT_TRUE(std::isfinite(value));
    }
  }
}

TEST(LowBitCorruption, TheLevelWithoutACounterpartIsRefused) {
  Values values = {1.0f, 0.5f};
  Bytes eight = Encode(values, ValueType::kInt8);
  eight[3] = std::byte{0x80};
  EXPECT_THROW(CheckLowBit(eight, 2, ValueType::kInt8), Corrupt);
  Bytes four = Encode(values, ValueType::kInt4);
  four[2] = std::byte{0x87};
  EXPECT_THROW(CheckLowBit(four, 2, ValueType::kInt4), Corrupt);
}

TEST(LowBitCorruption, MagnitudesOutOfOrderOrRangeAreRefused) {
  Values values = {1.0f, 2.0f, 3.0f};
  const Bytes bytes = Encode(values, ValueType::kInt2);
  ExpectRefused(bytes, 3, ValueType::kInt2, 0, 0x7bff);
  for (const int half : {0x0000, 0x7c00, 0x7e00, 0xbc00}) {
    ExpectRefused(bytes, 3, ValueType::kInt2, 2, static_cast<std::uint16_t>(half));
  }
}

TEST(LowBitCorruption, BitsBehindTheLastValueAreRefused) {
  for (const auto& [type, count] : {std::pair{ValueType::kInt4, 3}, {ValueType::kInt2, 5}}) {
    Values values = Normal(static_cast<std::size_t>(count), 2);
    Bytes bytes = Encode(values, type);
    bytes.back() |= std::byte{0x80};
    EXPECT_THROW(CheckLowBit(bytes, values.size(), type), Corrupt);
  }
}

}  // namespace
}  // namespace weir
