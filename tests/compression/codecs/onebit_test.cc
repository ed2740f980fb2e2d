#include "compression/codecs/onebit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>

#include "common/threads/thread_pool.h"
#include "compression/make_compressor.h"
#include "compression/options/registry.h"
#include "tests/compression/test_compressor.h"
#include "tests/compression/wire/wire_page.h"
#include "weir/error.h"

namespace weir {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

std::vector<std::byte> Encoded(const OneBitCodec& codec, const std::vector<float>& values,
                               ThreadPool* pool = nullptr) {
  std::vector<std::byte> payload(codec.MaxEncodedBytes(values.size(), 1.0));
  payload.resize(codec.Encode({.pool = pool}, values, payload));
  return payload;
}

std::vector<float> Decoded(const OneBitCodec& codec, const std::vector<std::byte>& payload,
                           std::size_t n) {
  std::vector<float> sum(n);
  codec.Merge(payload, sum);
  return sum;
}

std::vector<float> Random(std::size_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(n);
  for (float& value : values) value = normal(random);
  return values;
}

TEST(OneBit, SendsSignsAndZerosCountAsPositive) {
  const OneBitCodec codec(/*scaled=*/false);
  const std::vector<float> values = {3, -0.5f, 0.0f, -0.0f,
                                     -std::numeric_limits<float>::denorm_min()};
  EXPECT_THAT(Decoded(codec, Encoded(codec, values), 5), ElementsAre(1, -1, 1, 1, -1));
}

TEST(OneBit, ScaledSendsTheMeanMagnitude) {
  const OneBitCodec codec(/*scaled=*/true);
  EXPECT_THAT(Decoded(codec, Encoded(codec, {1, -2, 3, -6}), 4), ElementsAre(3, -3, 3, -3));
  EXPECT_THAT(Decoded(codec, Encoded(codec, {0, 0, 0}), 3), ElementsAre(0, 0, 0));
}

TEST(OneBit, TheBytesAreThoseOfTheWireFormatsPage) {
  test::ExpectAsOnThePage(Encoded(OneBitCodec(/*scaled=*/true), {1, -2, 3, -6}),
                          "00 00 40 40 0a 00 00 00");
}

TEST(OneBit, ThirtyTwoEntriesShareAWord) {
  const OneBitCodec codec(/*scaled=*/true);
  for (const auto& [n, bytes] : std::vector<std::pair<std::size_t, std::size_t>>{
           {1, 8}, {31, 8}, {32, 8}, {33, 12}, {1 << 20, 4 + (1 << 17)}}) {
    EXPECT_EQ(codec.MaxEncodedBytes(n, 1.0), bytes) << n;
    EXPECT_EQ(Encoded(codec, std::vector<float>(n, -1.0f)).size(), bytes) << n;
  }
}

TEST(OneBit, EncodingWhatWasDecodedGivesTheSameBytes) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  for (const bool scaled : {false, true}) {
    const OneBitCodec codec(scaled);
    for (const std::size_t n : {1u, 7u, 31u, 32u, 33u, 1000u, 70000u}) {
      const auto payload = Encoded(codec, Random(n, seed));
      EXPECT_EQ(Encoded(codec, Decoded(codec, payload, n)), payload) << n << " " << scaled;
    }
  }
}

TEST(OneBit, EveryLengthIsDecodedSignBySign) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  const OneBitCodec codec(/*scaled=*/true);
  for (std::size_t n = 1; n <= 130; ++n) {
    const auto values = Random(n, seed + static_cast<unsigned>(n));
    double sum = 0;
    for (const float value : values) sum += std::abs(value);
    const auto decoded = Decoded(codec, Encoded(codec, values), n);
    for (std::size_t i = 0; i < n; ++i) {
      ASSERT_EQ(std::signbit(decoded[i]), values[i] < 0) << n << " " << i;
      ASSERT_FLOAT_EQ(std::abs(decoded[i]), static_cast<float>(sum / static_cast<double>(n)));
    }
  }
}

TEST(OneBit, TheBytesDoNotDependOnThreads) {
  const OneBitCodec codec(/*scaled=*/true);
  const auto values = Random(1'000'003, 7);
  const auto alone = Encoded(codec, values);
  for (const int threads : {1, 2, 5}) {
    ThreadPool pool(threads, "pool");
    EXPECT_EQ(Encoded(codec, values, &pool), alone) << threads;
  }
}

TEST(OneBit, TheMeanHasTheBitsOfMergingAndDividing) {
  for (const std::size_t n : {1u, 31u, 64u, 100u, 9001u}) {
    const OneBitCodec codec(/*scaled=*/true);
    const auto a = Encoded(codec, Random(n, 1));
    const auto b = Encoded(codec, Random(n, 2));
    const std::vector<std::span<const std::byte>> payloads = {a, {}, b};
    std::vector<float> expected(n, 0.0f);
    codec.Merge(a, expected);
    codec.Merge(b, expected);
    for (float& value : expected) value /= 3.0f;
    std::vector<float> mean(n, 99.0f);
    codec.MergeMean(payloads, mean);
    EXPECT_EQ(mean, expected) << n;
  }
}

TEST(OneBit, SubtractTakesAwayWhatMergeAdds) {
  const OneBitCodec codec(/*scaled=*/true);
  const auto payload = Encoded(codec, Random(77, 3));
  std::vector<float> rest = Decoded(codec, payload, 77);
  codec.Subtract(payload, rest);
  EXPECT_THAT(rest, testing::Each(0.0f));
}

TEST(OneBit, WithErrorFeedbackTheBitsAreThoseOfOneThingAfterAnother) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  ThreadPool pool(3, "pool");
  for (const bool scaled : {false, true}) {
    const OneBitCodec codec(scaled);
    for (const std::size_t n : {0u, 1u, 31u, 32u, 33u, 1000u, 65537u, 200003u}) {
      std::vector<float> apart(n), fused(n);
      for (unsigned turn = 0; turn < 3; ++turn) {
        auto gradient = Random(n, seed + turn);
        if (n > 0) gradient[n / 2] = std::numeric_limits<float>::infinity();
        const ErrorStep step{gradient, 0.5f, 1.7f};
        std::vector<std::byte> wanted(codec.MaxEncodedBytes(n, 1.0));
        std::vector<std::byte> payload = wanted;
        const auto all = codec.Codec::EncodeWithFeedback({}, step, apart, wanted);
        const auto one = codec.EncodeWithFeedback({.pool = &pool}, step, fused, payload);
        EXPECT_EQ(one.bytes, all.bytes) << n;
        EXPECT_EQ(one.non_finite, all.non_finite) << n;
        EXPECT_EQ(payload, wanted) << n;
        ASSERT_TRUE(n == 0 || std::memcmp(fused.data(), apart.data(), n * sizeof(float)) == 0) << n;
      }
    }
  }
}

TEST(OneBit, WhatNoSenderWritesIsCorrupt) {
  const OneBitCodec codec(/*scaled=*/true);
  const auto payload = Encoded(codec, Random(40, 4));
  const auto check = [&](std::vector<std::byte> bytes, const char* text) {
    EXPECT_THAT([&] { codec.Check(bytes, 40); }, ThrowsMessage<Corrupt>(HasSubstr(text)));
  };
  auto bytes = payload;
  bytes.pop_back();
  check(bytes, "length is 11, expected 12");
  bytes = payload;
  bytes.back() = std::byte{1};
  check(bytes, "signs after the last entry");
  for (const float magnitude : {std::numeric_limits<float>::infinity(), std::nanf(""), -1.0f}) {
    bytes = payload;
    std::memcpy(bytes.data(), &magnitude, sizeof magnitude);
    check(bytes, "the magnitude is");
  }
  EXPECT_THAT([&] { OneBitCodec(/*scaled=*/false).Check(payload, 40); },
              ThrowsMessage<Corrupt>(HasSubstr("the magnitude is")));
}

TEST(OneBitCompressor, SmallTensorsTravelDense) {
  const CompressionOptions options = {{"compressor", "onebit"}};
  EXPECT_TRUE(MakeCompressor(options, TensorSpec{"w", Shape{16383}})->summable());
  EXPECT_FALSE(MakeCompressor(options, TensorSpec{"w", Shape{16384}})->summable());
}

TEST(OneBitCompressor, ErrorFeedbackTelescopes) {
  const auto compressor = MakeCompressor(
      {{"compressor", "onebit"}, {"scaling", "true"}, {"ef", "vanilla"}, {"min_elements", "1"}},
      TensorSpec{"w", Shape{50}});
  std::vector<double> given(50);
  std::vector<double> sent(50);
  for (unsigned step = 0; step < 200; ++step) {
    const auto gradient = Random(50, step);
    const auto decoded = test::SendAndReceive(*compressor, {}, gradient);
    for (std::size_t i = 0; i < 50; ++i) {
      given[i] += gradient[i];
      sent[i] += decoded[i];
    }
  }
  const auto error = compressor->State().front().values;
  for (std::size_t i = 0; i < 50; ++i) EXPECT_NEAR(sent[i] + error[i], given[i], 1e-3) << i;
}

}  // namespace
}  // namespace weir
