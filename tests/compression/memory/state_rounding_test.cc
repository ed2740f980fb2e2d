#include "compression/memory/state_rounding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "compression/dgc/dgc.h"
#include "compression/make_compressor.h"
#include "compression/options/registry.h"
#include "weir/error.h"

namespace weir {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr float kLargest = std::numeric_limits<float>::max();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

float Rounded(float value, std::uint32_t bits) {
  return BFloat16ToFloat(RoundedAtRandom(value, bits));
}

TEST(StateRounding, LeavesWhatABFloat16Holds) {
  for (const float value : {0.0f, -0.0f, 1.0f, -3.5f, 0x1p-133f, 0x1.fep127f, kInfinity}) {
    for (const std::uint32_t bits : {0u, 1u, 0x8000u, 0xffffu}) {
      EXPECT_EQ(std::bit_cast<std::uint32_t>(Rounded(value, bits)),
                std::bit_cast<std::uint32_t>(value));
    }
  }
  EXPECT_TRUE(std::isnan(Rounded(std::numeric_limits<float>::quiet_NaN(), 0xffff)));
  EXPECT_TRUE(std::isnan(Rounded(std::bit_cast<float>(0x7f800001u), 0)));
}

TEST(StateRounding, LeavesFiniteWhatIsFinite) {
  EXPECT_EQ(Rounded(kLargest, 0xffff), 0x1.fep127f);
  EXPECT_EQ(Rounded(-kLargest, 0xffff), -0x1.fep127f);
}

TEST(StateRounding, IsRightOnAverage) {
  for (const float value : {1.001f, -2.7f, 1e-30f, 123.456f}) {
    double sum = 0.0;
    for (std::uint32_t bits = 0; bits <= 0xffff; ++bits) {
      const float rounded = Rounded(value, bits);
      ASSERT_LE(std::abs(rounded - value), std::abs(value) / 128);
      sum += rounded;
    }
    EXPECT_NEAR(sum / 65536 / value, 1.0, 1e-6);
  }
}

TEST(StateRounding, BitsOfEntriesStepsAndRanksAreEven) {
  for (const std::uint32_t key : {RoundingKey(0, 0, 0), RoundingKey(0, 1, 0), RoundingKey(0, 0, 1),
                                  RoundingKey(7, std::int64_t{1} << 40, 3)}) {
    double u = 0.0;
    double v = 0.0;
    double both = 0.0;
    constexpr std::uint32_t kCount = 100'000;
    for (std::uint32_t i = 0; i < kCount; ++i) {
      const std::uint32_t bits = RoundingBits(key, i);
      const double for_u = BitsForMomentum(bits) / 65536.0 - 0.5;
      const double for_v = BitsForVelocity(bits) / 65536.0 - 0.5;
      u += for_u;
      v += for_v;
      both += for_u * for_v;
    }
    const double deviation = 1.0 / std::sqrt(12.0 * kCount);
    EXPECT_LT(std::abs(u / kCount), 5 * deviation) << key;
    EXPECT_LT(std::abs(v / kCount), 5 * deviation) << key;
    EXPECT_LT(std::abs(both / kCount), 5 * deviation) << key;
  }
}

TEST(StateRounding, KeysDiffer) {
  EXPECT_NE(RoundingKey(0, 5, 0), RoundingKey(0, 6, 0));
  EXPECT_NE(RoundingKey(0, 5, 0), RoundingKey(1, 5, 0));
  EXPECT_NE(RoundingKey(0, 5, 0), RoundingKey(0, 5, 1));
  EXPECT_NE(RoundingKey(0, 5, 0), RoundingKey(0, 5 + (std::int64_t{1} << 32), 0));
}

CompressionOptions Dgc(const CompressionOptions& more) {
  CompressionOptions options = {{"compressor", "dgc"},
                                {"momentum", "none"},
                                {"min_elements", "0"},
                                {"policy", "always"},
                                {"state_dtype", "bf16"}};
  for (const auto& [key, value] : more) options[key] = value;
  return options;
}

/// A step adds a thousandth of the accumulated value: rounding to
/// the nearest would drop all of it.
TEST(DgcWithBFloat16State, KeepsWhatIsSmallBesideWhatHasGathered) {
  constexpr std::size_t kElements = 4000;
  const auto dgc = MakeCompressor(Dgc({}), {"w", Shape{40, 100}});
  std::vector<float> gradient(kElements, 1.0f / 1024);
  std::vector<std::byte> payload(dgc->MaxEncodedBytes(0.00025));
  std::vector<float> gathered(kElements, 1.0f);
  std::span<float> v = dgc->State()[0].values;
  std::ranges::copy(gathered, v.begin());
  dgc->Restored();
  constexpr int kSteps = 512;
  std::vector<float> sent(kElements);
  for (int step = 0; step < kSteps; ++step) {
    dgc->Encode({.step = step, .density = 0.00025}, gradient, payload);
    dgc->Merge(payload, sent);
  }
  for (const float x : v) ASSERT_EQ(x, BFloat16ToFloat(FloatToBFloat16(x)));
  const double left = std::accumulate(v.begin(), v.end(), 0.0);
  EXPECT_NEAR(std::accumulate(sent.begin(), sent.end(), left) / kElements, 1.5, 0.005);
}

TEST(DgcWithBFloat16State, RoundsAStateThatIsLoaded) {
  const auto dgc = MakeCompressor(Dgc({{"momentum", "vanilla"}}), {"w", Shape{10, 10}});
  for (const Compressor::StateArray& array : dgc->State()) array.values[3] = 1.001f;
  dgc->Restored();
  for (const Compressor::StateArray& array : dgc->State()) EXPECT_EQ(array.values[3], 1.0f);
}

TEST(DgcWithBFloat16State, IsRefusedWhereStateIsSomethingElse) {
  const TensorSpec tensor{"w", Shape{10, 10}};
  EXPECT_THAT(
      [&] {
        MakeCompressor(Dgc({{"momentum", "adam"}}), tensor);
      },
      ThrowsMessage<InvalidArgument>(AllOf(HasSubstr("state_dtype"), HasSubstr("momentum=adam"))));
  EXPECT_THAT(
      [&] {
        MakeCompressor(Dgc({{"values", "int8"}}), tensor);
      },
      ThrowsMessage<InvalidArgument>(AllOf(HasSubstr("state_dtype"), HasSubstr("values=fp16"))));
  EXPECT_THAT(
      [&] {
        MakeCompressor(Dgc({{"selection", "bucket"}}), tensor);
      },
      ThrowsMessage<InvalidArgument>(
          AllOf(HasSubstr("state_dtype"), HasSubstr("selection=tensor"))));
}

}  // namespace
}  // namespace weir
