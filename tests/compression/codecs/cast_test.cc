#include "compression/codecs/cast.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "common/half.h"
#include "compression/make_compressor.h"
#include "compression/options/registry.h"
#include "tests/compression/test_compressor.h"
#include "weir/error.h"

namespace weir {
namespace {

std::vector<float> Gradient(std::size_t n) {
  std::mt19937 random(31);
  std::normal_distribution<float> normal;
  std::vector<float> gradient(n);
  for (float& value : gradient) value = normal(random);
  return gradient;
}

std::unique_ptr<Compressor> Make(const std::string& name, std::int64_t n) {
  return MakeCompressor(CompressionOptions{{"compressor", name}}, TensorSpec{"w", Shape{n}});
}

class Cast : public testing::TestWithParam<std::string> {};

TEST_P(Cast, SendsEveryValueRoundedOnce) {
  for (std::size_t n : {1, 5, 511, 512, 513, 3000}) {
    const std::vector<float> gradient = Gradient(n);
    const auto compressor = Make(GetParam(), static_cast<std::int64_t>(n));
    const auto received = test::SendAndReceive(*compressor, {}, gradient);
    for (std::size_t i = 0; i < n; ++i) {
      const float expected = GetParam() == "fp16"   ? HalfToFloat(FloatToHalf(gradient[i]))
                             : GetParam() == "bf16" ? BFloat16ToFloat(FloatToBFloat16(gradient[i]))
                                                    : gradient[i];
      ASSERT_EQ(received[i], expected);
    }
  }
}

TEST_P(Cast, SaturatesAndNeverSendsInfinity) {
  const auto compressor = Make(GetParam(), 2);
  const float largest = std::numeric_limits<float>::max();
  const auto received = test::SendAndReceive(*compressor, {}, {largest, -largest});
  EXPECT_TRUE(std::isfinite(received[0]) && received[0] >= 65504.0f);
  EXPECT_EQ(received[1], -received[0]);
}

TEST_P(Cast, NonFiniteEntriesAreSentAsZeroAndCounted) {
  const auto compressor = Make(GetParam(), 3);
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(test::SendAndReceive(*compressor, {}, {infinity, 2.0f, std::nanf("")}),
            (std::vector<float>{0.0f, 2.0f, 0.0f}));
  EXPECT_EQ(compressor->non_finite_entries(), 2u);
}

TEST_P(Cast, ScalesTheGradientFirst) {
  const auto compressor = Make(GetParam(), 2);
  EXPECT_EQ(test::SendAndReceive(*compressor, {.gradient_scale = 0.25f}, {4.0f, -8.0f}),
            (std::vector<float>{1.0f, -2.0f}));
}

TEST_P(Cast, AnotherLengthOrANonFiniteValueIsCorrupt) {
  const auto compressor = Make(GetParam(), 3);
  std::vector<std::byte> payload = test::Send(*compressor, {}, {1, 2, 3});
  std::vector<float> sum(3, 0.5f);
  payload.back() = std::byte{0x7f};
  payload[payload.size() - 2] = std::byte{0x80};
  if (GetParam() == "fp16") payload.back() = std::byte{0x7c};
  EXPECT_THROW(compressor->Merge(payload, sum), Corrupt);
  payload.pop_back();
  EXPECT_THROW(compressor->Merge(payload, sum), Corrupt);
  EXPECT_EQ(sum, std::vector<float>(3, 0.5f));
  compressor->Merge({}, sum);
  EXPECT_EQ(sum, std::vector<float>(3, 0.5f));
}

INSTANTIATE_TEST_SUITE_P(All, Cast, testing::Values("dense", "fp16", "bf16"),
                         [](const auto& test) { return test.param; });

TEST(Cast, PayloadsAreArraysOfTheTypeTheyNameAsSummable) {
  EXPECT_EQ(Make("dense", 4)->summable(), DType::kFloat32);
  EXPECT_EQ(Make("fp16", 4)->summable(), DType::kFloat16);
  EXPECT_EQ(Make("bf16", 4)->summable(), DType::kBFloat16);
  EXPECT_EQ(Make("bf16", 4)->MaxEncodedBytes(0.01), 8u);
}

}  // namespace
}  // namespace weir
