// Laws of every codec, on random and awkward inputs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <string>

#include "common/threads/thread_pool.h"
#include "compression/make_compressor.h"
#include "compression/options/registry.h"
#include "tests/compression/test_compressor.h"
#include "weir/error.h"

namespace weir {
namespace {

constexpr double kDensity = 0.1;

struct Case {
  const char* name;
  CompressionOptions options;
};

/// So that -0 is not 0.
std::vector<std::uint32_t> BitsOf(const std::vector<float>& values) {
  std::vector<std::uint32_t> bits;
  for (const float value : values) bits.push_back(std::bit_cast<std::uint32_t>(value));
  return bits;
}

class CodecLaws : public testing::TestWithParam<Case> {
 protected:
  std::unique_ptr<Compressor> Make(std::size_t n, CompressionOptions more = {}) const {
    CompressionOptions options = GetParam().options;
    options.insert(more.begin(), more.end());
    const auto& keys = FindCompressor(options.at("compressor")).options;
    if (std::ranges::find(keys, "min_elements", &OptionSpec::key) != keys.end()) {
      options.try_emplace("min_elements", "0");
    }
    // A matrix: vectors travel dense with dgc.
    return MakeCompressor(options, TensorSpec{"w", Shape{1, static_cast<std::int64_t>(n)}});
  }

  /// Not where the options contradict it (randomk_test.cc), nor where what is kept is something
  /// else.
  bool TakesErrorFeedback() const {
    const CompressionOptions& options = GetParam().options;
    const auto& keys = FindCompressor(options.at("compressor")).options;
    return !options.contains("unbiased") &&
           std::ranges::find(keys, "ef", &OptionSpec::key) != keys.end();
  }

  std::vector<float> Random(std::size_t n) {
    std::normal_distribution<float> normal;
    std::vector<float> values(n);
    for (float& value : values) value = normal(random_);
    return values;
  }

  /// Lengths around words, blocks and counts, and values around the ends of the format.
  std::vector<std::vector<float>> Inputs() {
    std::vector<std::vector<float>> inputs;
    for (const std::size_t n : {1u, 2u, 7u, 31u, 32u, 33u, 255u, 256u, 257u, 1000u, 5000u}) {
      inputs.push_back(Random(n));
    }
    const float tiny = std::numeric_limits<float>::denorm_min();
    const float huge = std::numeric_limits<float>::max();
    for (const std::vector<float>& few :
         {std::vector<float>{0, -0.0f}, {tiny, -tiny, 0}, {huge, -huge, 1}, {huge}, {1e-30f, 1}}) {
      inputs.push_back(few);
      std::vector<float> many;
      while (many.size() < 300) many.insert(many.end(), few.begin(), few.end());
      inputs.push_back(many);
    }
    return inputs;
  }

  const unsigned seed_ = std::random_device{}();
  std::mt19937 random_{seed_};
};

TEST_P(CodecLaws, NothingIsLongerThanAnnounced) {
  SCOPED_TRACE(testing::Message() << "seed " << seed_);
  for (const auto& input : Inputs()) {
    const auto compressor = Make(input.size());
    for (const double density : {kDensity, 1.0}) {
      const std::size_t limit = compressor->MaxEncodedBytes(density);
      std::vector<std::byte> payload(limit);
      EXPECT_LE(compressor->Encode({.density = density}, input, payload), limit) << input.size();
    }
  }
}

TEST_P(CodecLaws, WhatIsReceivedIsFiniteAndHasNoWrongSign) {
  SCOPED_TRACE(testing::Message() << "seed " << seed_);
  for (const auto& input : Inputs()) {
    const auto compressor = Make(input.size());
    const auto received = test::SendAndReceive(*compressor, {.density = kDensity}, input);
    for (std::size_t i = 0; i < input.size(); ++i) {
      EXPECT_TRUE(std::isfinite(received[i])) << input[i];
      EXPECT_GE(static_cast<double>(received[i]) * input[i], 0.0) << i << " of " << input.size();
    }
  }
}

TEST_P(CodecLaws, TheSameGradientGivesTheSameBytesOnEveryThreadCount) {
  SCOPED_TRACE(testing::Message() << "seed " << seed_);
  const auto gradient = Random(300'007);
  const auto alone = test::Send(*Make(gradient.size()), {.density = kDensity}, gradient);
  for (const int threads : {1, 3}) {
    ThreadPool pool(threads, "pool");
    const StepContext context{.density = kDensity, .pool = &pool};
    EXPECT_EQ(test::Send(*Make(gradient.size()), context, gradient), alone) << threads;
  }
}

TEST_P(CodecLaws, TheMeanHasTheBitsOfMergingAndDividing) {
  SCOPED_TRACE(testing::Message() << "seed " << seed_);
  for (const std::size_t n : {1u, 33u, 700u, 9000u}) {
    const auto compressor = Make(n);
    std::vector<std::vector<std::byte>> payloads;
    for (int rank = 0; rank < 3; ++rank) {
      payloads.push_back(test::Send(*compressor, {.density = kDensity}, Random(n)));
    }
    payloads.emplace_back();  // A rank that has joined.
    std::vector<float> expected(n, 0.0f);
    for (const auto& payload : payloads) compressor->Merge(payload, expected);
    for (float& value : expected) value /= 4.0f;
    const std::vector<std::span<const std::byte>> views(payloads.begin(), payloads.end());
    std::vector<float> mean(n, 99.0f);
    compressor->MergeMean(views, mean);
    EXPECT_EQ(BitsOf(mean), BitsOf(expected)) << n;
    compressor->MergeMean(std::span(views).last(1), mean);
    EXPECT_EQ(BitsOf(mean), BitsOf(std::vector<float>(n, 0.0f))) << "nobody sent anything";
  }
}

TEST_P(CodecLaws, TheMeanOfNothingIsPlusZero) {
  for (const std::size_t n : {1u, 100u}) {
    const auto compressor = Make(n);
    const std::vector<float> nothing(n, -0.0f);
    const auto payload = test::Send(*compressor, {.density = kDensity}, nothing);
    std::vector<float> expected(n, 0.0f);
    compressor->Merge(payload, expected);
    std::vector<float> mean(n, 99.0f);
    const std::vector<std::span<const std::byte>> alone = {payload};
    compressor->MergeMean(alone, mean);
    EXPECT_EQ(BitsOf(mean), BitsOf(expected)) << n;
  }
}

TEST_P(CodecLaws, ErrorFeedbackKeepsExactlyWhatAReceiverDoesNotGet) {
  SCOPED_TRACE(testing::Message() << "seed " << seed_);
  if (!TakesErrorFeedback()) return;
  for (const std::size_t n : {1u, 65u, 3000u}) {
    const auto compressor = Make(n, {{"ef", "vanilla"}});
    const auto gradient = Random(n);
    const auto received = test::SendAndReceive(*compressor, {.density = kDensity}, gradient);
    std::vector<float> rest = gradient;
    for (std::size_t i = 0; i < n; ++i) rest[i] -= received[i];
    const auto error = compressor->State().front().values;
    EXPECT_EQ(BitsOf({error.begin(), error.end()}), BitsOf(rest)) << n;
  }
}

TEST_P(CodecLaws, ErrorFeedbackLosesNothing) {
  SCOPED_TRACE(testing::Message() << "seed " << seed_);
  if (!TakesErrorFeedback()) return;
  for (const std::size_t n : {1u, 40u, 600u}) {
    const auto compressor = Make(n, {{"ef", "vanilla"}});
    std::vector<double> given(n), sent(n);
    for (std::int64_t step = 0; step < 50; ++step) {
      const auto gradient = Random(n);
      const auto received =
          test::SendAndReceive(*compressor, {.step = step, .density = kDensity}, gradient);
      for (std::size_t i = 0; i < n; ++i) {
        given[i] += gradient[i];
        sent[i] += received[i];
      }
    }
    const auto state = compressor->State();
    for (std::size_t i = 0; i < n; ++i) {
      const double kept = state.empty() ? 0.0 : state.front().values[i];
      // Each of 50 steps may round a number of up to 50 once.
      EXPECT_NEAR(sent[i] + kept, given[i], 1e-3) << i << " of " << n;
    }
  }
}

TEST_P(CodecLaws, TheGradientOfARevertedStepStays) {
  SCOPED_TRACE(testing::Message() << "seed " << seed_);
  if (!TakesErrorFeedback()) return;
  const auto gradient = Random(100);
  const auto compressor = Make(100, {{"ef", "vanilla"}});
  test::Send(*compressor, {.density = kDensity}, gradient);
  compressor->Revert();
  const auto error = compressor->State().front().values;
  for (std::size_t i = 0; i < 100; ++i) EXPECT_NEAR(error[i], gradient[i], 1e-5) << i;
}

TEST_P(CodecLaws, EveryOtherLengthIsCorrupt) {
  SCOPED_TRACE(testing::Message() << "seed " << seed_);
  const auto compressor = Make(100);
  const auto payload = test::Send(*compressor, {.density = kDensity}, Random(100));
  compressor->Check(payload);
  auto longer = payload;
  longer.push_back(std::byte{0});
  EXPECT_THROW(compressor->Check(longer), Corrupt);
  for (std::size_t length = 1; length < payload.size(); ++length) {
    std::vector<float> sum(100, 5.0f);
    const auto part = std::span(payload).first(length);
    try {
      compressor->Merge(part, sum);
      ADD_FAILURE() << length << " of " << payload.size() << " bytes were taken";
    } catch (const Corrupt&) {
      EXPECT_THAT(sum, testing::Each(5.0f)) << length;
    }
  }
}

TEST_P(CodecLaws, DamagedBytesAreRefusedOrFinite) {
  SCOPED_TRACE(testing::Message() << "seed " << seed_);
  const auto compressor = Make(200);
  const auto payload = test::Send(*compressor, {.density = kDensity}, Random(200));
  for (int round = 0; round < 3000; ++round) {
    auto damaged = payload;
    for (unsigned i = 0; i <= random_() % 3; ++i) {
      damaged[random_() % damaged.size()] ^= static_cast<std::byte>(1 + random_() % 255);
    }
    std::vector<float> sum(200, 0.0f);
    try {
      compressor->Merge(damaged, sum);
      for (const float value : sum) EXPECT_TRUE(std::isfinite(value));
    } catch (const Corrupt&) {
      EXPECT_THAT(sum, testing::Each(0.0f));
    }
  }
}

const Case kCases[] = {
    {"dense", {{"compressor", "dense"}}},
    {"fp16", {{"compressor", "fp16"}}},
    {"bf16", {{"compressor", "bf16"}}},
    {"onebit", {{"compressor", "onebit"}}},
    {"onebit_scaled", {{"compressor", "onebit"}, {"scaling", "true"}}},
    {"topk", {{"compressor", "topk"}}},
    {"topk_int8", {{"compressor", "topk"}, {"values", "int8"}}},
    {"topk_int2", {{"compressor", "topk"}, {"values", "int2"}}},
    {"randomk", {{"compressor", "randomk"}, {"values", "fp32"}}},
    {"randomk_int2", {{"compressor", "randomk"}, {"values", "int2"}}},
    {"dithering", {{"compressor", "dithering"}}},
    {"dithering_natural", {{"compressor", "dithering"}, {"partition", "natural"}, {"k", "20"}}},
    {"dithering_norm", {{"compressor", "dithering"}, {"normalize", "l2"}, {"k", "127"}}},
    {"dithering_ternary", {{"compressor", "dithering"}, {"k", "1"}, {"seed", "5"}}},
    {"int8", {{"compressor", "int8"}}},
    {"threshold", {{"compressor", "threshold"}, {"threshold", "1.5"}}},
    {"threshold_int4", {{"compressor", "threshold"}, {"threshold", "1.5"}, {"values", "int4"}}},
    {"terngrad", {{"compressor", "terngrad"}}},
    {"quant3", {{"compressor", "quant3"}}},
    {"randomk_unbiased", {{"compressor", "randomk"}, {"unbiased", "true"}}},
    {"dgc", {{"compressor", "dgc"}}},
    // Without momentum, since a tenth of the smallest number is -0, which has another sign.
    {"signum", {{"compressor", "signum"}, {"momentum_mu", "0"}}},
};

INSTANTIATE_TEST_SUITE_P(Codecs, CodecLaws, testing::ValuesIn(kCases),
                         [](const auto& entry) { return std::string(entry.param.name); });

/// Compressors without a case, and why.
const std::map<std::string, std::string> kExempt = {
    {"powersgd", "sends two factors in all-reduces and no payload of its own: powersgd_test.cc"}};

TEST(CompressorLaws, HoldForEveryRegisteredCompressor) {
  std::set<std::string> held;
  for (const Case& one : kCases) held.insert(one.options.at("compressor"));
  std::set<std::string> named = held;
  for (const auto& [name, reason] : kExempt) {
    EXPECT_TRUE(named.insert(name).second) << name << " has a case, and needs no exemption";
  }
  std::set<std::string> registered;
  for (const CompressorInfo& info : ListCompressors()) registered.insert(info.name);
  EXPECT_EQ(named, registered) << "give each a case in kCases, or say in kExempt why it has none";
}

}  // namespace
}  // namespace weir
