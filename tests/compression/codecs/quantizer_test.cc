#include "compression/codecs/quantizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <set>

#include "compression/make_compressor.h"
#include "compression/options/registry.h"
#include "tests/compression/test_compressor.h"
#include "tests/compression/wire/wire_page.h"
#include "weir/error.h"

namespace weir {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;
using Spacing = QuantizerCodec::Spacing;
using Scale = QuantizerCodec::Scale;

std::vector<std::byte> Encoded(const QuantizerCodec& codec, std::int64_t step,
                               const std::vector<float>& values) {
  std::vector<std::byte> payload(codec.MaxEncodedBytes(values.size(), 1.0));
  payload.resize(codec.Encode({.step = step}, values, payload));
  return payload;
}

std::vector<float> Decoded(const QuantizerCodec& codec, std::int64_t step,
                           const std::vector<float>& values) {
  std::vector<float> sum(values.size());
  codec.Merge(Encoded(codec, step, values), sum);
  return sum;
}

QuantizerCodec Codec(int levels, Spacing spacing = Spacing::kLinear,
                     Scale scale = Scale::kLargest) {
  return {CounterRandom(0, "w"), {.levels = levels, .spacing = spacing, .scale = scale}};
}

TEST(Quantizer, LinearLevelsAreEvenlySpaced) {
  const std::vector<float> values = {4, -4, 1, -2, 0, 3, 0.001f};
  std::set<float> seen;
  for (std::int64_t step = 0; step < 200; ++step) {
    for (const float value : Decoded(Codec(4), step, values)) seen.insert(value);
  }
  EXPECT_THAT(seen,
              testing::IsSubsetOf({-4.0f, -3.0f, -2.0f, -1.0f, 0.0f, 1.0f, 2.0f, 3.0f, 4.0f}));
}

TEST(Quantizer, ValuesOnALevelAreSentAsTheyAre) {
  const std::vector<float> linear = {4, -3, 2, -1, 0};
  const std::vector<float> natural = {4, -2, 1, -0.5f, 0};
  for (std::int64_t step = 0; step < 50; ++step) {
    EXPECT_EQ(Decoded(Codec(4), step, linear), linear);
    EXPECT_EQ(Decoded(Codec(4, Spacing::kPowersOfTwo), step, natural), natural);
  }
}

// The values are levels, so that nothing is left to chance.
TEST(Quantizer, TheBytesAreThoseOfTheWireFormatsPage) {
  test::ExpectAsOnThePage(Encoded(Codec(4), 0, {4, -3, 2, -1, 0}), "00 00 80 40 01 03 e0 d4 f2 00");
  test::ExpectAsOnThePage(Encoded(Codec(4, Spacing::kPowersOfTwo), 0, {4, -2, 1, -0.5f, 0}),
                          "00 00 80 40 01 03 e0 d4 f2 00");
  std::vector<float> one(100);
  one[2] = -4;
  test::ExpectAsOnThePage(Encoded(Codec(4), 0, one), "00 00 80 40 01 02 00 da 00");
}

TEST(Quantizer, NaturalLevelsArePowersOfTwo) {
  const std::vector<float> values = {8, 5, 3, 1.5f, 0.3f, -6, -0.01f};
  std::set<float> seen;
  for (std::int64_t step = 0; step < 500; ++step) {
    for (const float value : Decoded(Codec(5, Spacing::kPowersOfTwo), step, values)) {
      seen.insert(std::abs(value));
    }
  }
  EXPECT_THAT(seen, testing::ElementsAre(0.0f, 0.5f, 1.0f, 2.0f, 4.0f, 8.0f));
}

TEST(Quantizer, TheNormIsAScaleToo) {
  // One of 3 and 4: the norm is 5, and one level means 0 or 5.
  for (std::int64_t step = 0; step < 50; ++step) {
    for (const float value : Decoded(Codec(1, Spacing::kLinear, Scale::kNorm), step, {3, 4})) {
      EXPECT_TRUE(value == 0.0f || value == 5.0f) << value;
    }
  }
}

TEST(Quantizer, IsRightOnAverage) {
  const std::vector<float> values = {1.0f, 0.9f, -0.77f, 0.4f, -0.31f, 0.06f, 0.001f, 0.0f};
  constexpr int kSteps = 40'000;
  for (const Spacing spacing : {Spacing::kLinear, Spacing::kPowersOfTwo}) {
    for (const Scale scale : {Scale::kLargest, Scale::kNorm}) {
      for (const int levels : {1, 3, 7}) {
        const QuantizerCodec codec = Codec(levels, spacing, scale);
        std::vector<double> mean(values.size());
        for (std::int64_t step = 0; step < kSteps; ++step) {
          const auto sent = Decoded(codec, step, values);
          for (std::size_t i = 0; i < sent.size(); ++i) mean[i] += sent[i] / kSteps;
        }
        // A value between levels at most 1.6 apart deviates by 0.8 at most, its mean by that / 200;
        // five of them.
        for (std::size_t i = 0; i < values.size(); ++i) {
          EXPECT_NEAR(mean[i], values[i], 0.02) << levels << " levels, entry " << i;
        }
      }
    }
  }
}

TEST(TernGrad, WithoutClippingIsRightOnAverage) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  const auto compressor = MakeCompressor({{"compressor", "terngrad"},
                                          {"clip_deviations", "0"},
                                          {"seed", std::to_string(seed)},
                                          {"min_elements", "0"}},
                                         TensorSpec{"w", Shape{40}});
  // The first is 6 standard deviations out: clipped, it would be wrong on average.
  std::vector<float> values(40, 0.0f);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = (static_cast<float>(i * 7 % 40) - 20.0f) / 20.0f;
  }
  values[0] = 25.0f;
  constexpr int kSteps = 40'000;
  std::vector<double> mean(values.size());
  for (std::int64_t step = 0; step < kSteps; ++step) {
    const auto sent = test::SendAndReceive(*compressor, {.step = step}, values);
    for (std::size_t i = 0; i < sent.size(); ++i) mean[i] += sent[i] / double{kSteps};
  }
  // An entry of size x is 0 or the scale s: its variance is x (s - x). Six standard deviations of
  // the mean; one run in ten million has an entry beyond them.
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double x = std::abs(static_cast<double>(values[i]));
    const double deviation = std::sqrt(x * (25.0 - x) / kSteps);
    EXPECT_NEAR(mean[i], values[i], 6 * deviation + 1e-9) << "entry " << i;
  }
}

TEST(Quantizer, NearestTakesTheNearerLevelAndNoRandomNumbers) {
  const QuantizerCodec codec(CounterRandom(0, "w"),
                             {.levels = 3, .rounding = QuantizerCodec::Rounding::kNearest});
  const std::vector<float> values = {3, 1.4f, 1.6f, -0.4f, -0.6f, 0.5f};
  for (std::int64_t step = 0; step < 5; ++step) {
    EXPECT_THAT(Decoded(codec, step, values), testing::ElementsAre(3, 1, 2, 0, -1, 0));
  }
}

TEST(Quantizer, ClippedCutsWhatIsFarOut) {
  // The standard deviation of 99 ones and a hundred is sqrt((99 + 10,000) / 100).
  const QuantizerCodec codec(CounterRandom(0, "w"),
                             {.levels = 1, .scale = Scale::kClipped, .deviations = 2});
  std::vector<float> values(100, 1.0f);
  values[7] = -100.0f;
  EXPECT_FLOAT_EQ(Decoded(codec, 0, values)[7], -2 * std::sqrt(100.99f));
  // Nothing is far out here.
  EXPECT_THAT(Decoded(codec, 0, {2, -2}), testing::ElementsAre(2, -2));
}

TEST(Quantizer, NothingIsNothing) {
  EXPECT_THAT(Decoded(Codec(7), 0, std::vector<float>(100, 0.0f)), testing::Each(0.0f));
  const float tiny = std::numeric_limits<float>::denorm_min();
  EXPECT_EQ(Decoded(Codec(7), 0, {tiny, 0, -tiny}), (std::vector<float>{tiny, 0, -tiny}));
}

TEST(Quantizer, SeedStepAndTensorMakeTheNumbers) {
  const std::vector<float> values(200, 0.37f);
  std::vector<float> more = values;
  more.push_back(1.0f);
  const auto sent = [&](std::uint64_t seed, const char* tensor, std::int64_t step) {
    return Decoded(QuantizerCodec(CounterRandom(seed, tensor), {.levels = 2}), step, more);
  };
  EXPECT_EQ(sent(0, "w", 3), sent(0, "w", 3));
  EXPECT_NE(sent(0, "w", 3), sent(0, "w", 4));
  EXPECT_NE(sent(0, "w", 3), sent(1, "w", 3));
  EXPECT_NE(sent(0, "w", 3), sent(0, "b", 3));
}

TEST(Quantizer, TheErrorsOfRanksAverageOut) {
  const std::vector<float> values(5000, 0.5f);
  std::vector<float> all = values;
  all.push_back(1.0f);  // The scale: with one level each of the others is 0 or 1.
  std::vector<double> mean(values.size());
  constexpr int kRanks = 16;
  for (int rank = 0; rank < kRanks; ++rank) {
    std::vector<std::byte> payload(Codec(1).MaxEncodedBytes(all.size(), 1.0));
    payload.resize(Codec(1).Encode({.rank = rank}, all, payload));
    std::vector<float> sum(all.size());
    Codec(1).Merge(payload, sum);
    for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += sum[i] / double{kRanks};
  }
  double square = 0;
  for (const double value : mean) square += (value - 0.5) * (value - 0.5) / 5000.0;
  // 1/4 for one rank, a sixteenth of it for as many that round on their own; within 10 %.
  EXPECT_NEAR(square, 0.25 / kRanks, 0.025 / kRanks);
}

TEST(Quantizer, AFewLevelsTakeAFewBits) {
  for (const auto& [levels, bits] : std::vector<std::pair<int, std::size_t>>{
           {1, 2}, {3, 3}, {4, 4}, {7, 4}, {15, 5}, {127, 8}}) {
    EXPECT_EQ(Codec(levels).MaxEncodedBytes(800, 1.0), 5 + 2 + 100 * bits) << levels;
  }
}

TEST(Quantizer, AScaleThatNoSenderWritesIsCorrupt) {
  std::vector<std::byte> payload(Codec(7).MaxEncodedBytes(8, 1.0));
  const float scale = -1.0f;
  std::memcpy(payload.data(), &scale, sizeof scale);
  EXPECT_THAT([&] { Codec(7).Check(payload, 8); },
              ThrowsMessage<Corrupt>(HasSubstr("the scale is -1")));
  EXPECT_THAT([&] { Codec(7).Check(std::span(payload).first(3), 8); },
              ThrowsMessage<Corrupt>(HasSubstr("there is no scale")));
  const QuantizerCodec packed(CounterRandom(0, "w"), {.levels = 7, .form = LevelForm::kPacked});
  payload = std::vector<std::byte>(packed.MaxEncodedBytes(8, 1.0));
  EXPECT_NO_THROW(packed.Check(payload, 8));
  payload.back() = std::byte{0x10};
  EXPECT_THAT([&] { packed.Check(payload, 8); },
              ThrowsMessage<Corrupt>(HasSubstr("levels of a scale of 0")));
}

}  // namespace
}  // namespace weir
