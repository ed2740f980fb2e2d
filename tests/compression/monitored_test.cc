// Figures that compressors report: how much they sent, and how much they keep back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "compression/make_compressor.h"
#include "compression/options/registry.h"
#include "compression/residual_ratio.h"
#include "tests/compression/test_compressor.h"

namespace weir {
namespace {

using Floats = std::vector<float>;

constexpr unsigned kSeed = 71;
constexpr std::size_t kEntries = 4000;

Floats Normal(std::size_t n, unsigned seed = kSeed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  Floats values(n);
  for (float& value : values) value = normal(random);
  return values;
}

std::unique_ptr<Compressor> Make(CompressionOptions options) {
  // With these, a small tensor would travel dense.
  if (options.contains("k") || options.contains("ef")) options["min_elements"] = "0";
  return MakeCompressor(options, TensorSpec{"w", Shape{40, kEntries / 40}});
}

class EntriesOf : public testing::TestWithParam<CompressionOptions> {};

TEST_P(EntriesOf, APayloadAreThoseThatAReceiverAdds) {
  SCOPED_TRACE(kSeed);
  const auto compressor = Make(GetParam());
  for (const double density : {0.01, 0.1}) {
    const auto payload = test::Send(*compressor, {.density = density}, Normal(kEntries));
    const Floats received = test::Received(*compressor, payload, kEntries);
    EXPECT_EQ(compressor->EntriesIn(payload),
              kEntries - static_cast<std::size_t>(std::ranges::count(received, 0.0f)));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Sparse, EntriesOf,
    testing::Values(CompressionOptions{{"compressor", "dgc"}},
                    CompressionOptions{{"compressor", "dgc"}, {"values", "int8"}},
                    CompressionOptions{{"compressor", "topk"}, {"k", "0.02"}},
                    CompressionOptions{{"compressor", "topk"},
                                       {"k", "0.02"},
                                       {"ef", "vanilla"},
                                       {"momentum", "nesterov"},
                                       {"momentum_mu", "0.9"}},
                    CompressionOptions{{"compressor", "randomk"}, {"k", "0.02"}}));

TEST(EntriesOf, ADensePayloadAreAll) {
  for (const char* name : {"dense", "fp16", "onebit", "dithering"}) {
    const auto compressor = Make({{"compressor", name}});
    EXPECT_EQ(compressor->EntriesIn(test::Send(*compressor, {}, Normal(kEntries))), std::nullopt)
        << name;
  }
}

TEST(Residual, IsWhatWasTakenInAndNotSent) {
  SCOPED_TRACE(kSeed);
  const Floats gradient = Normal(kEntries);
  for (const CompressionOptions& options :
       {CompressionOptions{{"compressor", "dgc"}, {"values", "fp32"}},
        CompressionOptions{{"compressor", "topk"}, {"k", "0.02"}, {"ef", "vanilla"}},
        CompressionOptions{{"compressor", "onebit"},
                           {"ef", "vanilla"},
                           {"momentum", "nesterov"},
                           {"momentum_mu", "0.9"}}}) {
    const auto compressor = Make(options);
    ASSERT_EQ(compressor->residual().size(), kEntries) << options.at("compressor");
    const Floats sent = test::SendAndReceive(*compressor, {.density = 0.01}, gradient);
    // Nesterov's first direction is (1 + mu) g; that of the others is g.
    const float taken_in = options.contains("momentum") ? 1.9f : 1.0f;
    for (std::size_t i = 0; i < kEntries; ++i)
      EXPECT_NEAR(compressor->residual()[i], taken_in * gradient[i] - sent[i], 1e-5) << i;
  }
}

TEST(Residual, OfWhatKeepsNothingIsEmpty) {
  EXPECT_TRUE(Make({{"compressor", "dense"}})->residual().empty());
  EXPECT_TRUE(Make({{"compressor", "topk"}, {"k", "0.02"}})->residual().empty());
}

TEST(ResidualRatio, IsThatOfTheNorms) {
  const Floats residual = {3.0f, 4.0f};
  const Floats gradient = {0.0f, 10.0f};
  EXPECT_FLOAT_EQ(ResidualRatio(residual, gradient, 1.0f, 0), 0.5f);
  EXPECT_FLOAT_EQ(ResidualRatio(residual, gradient, 0.5f, 7), 1.0f) << "of the scaled gradient";
  EXPECT_FLOAT_EQ(ResidualRatio(gradient, residual, 1.0f, 0), 2.0f);
}

TEST(ResidualRatio, ItsWindowMovesOverTheWholeTensor) {
  const std::size_t n = 2 * kResidualWindow + 10;
  const Floats gradient(n, 1.0f);
  Floats residual(n, 0.0f);
  std::ranges::fill(std::span(residual).subspan(kResidualWindow, kResidualWindow), 2.0f);
  std::ranges::fill(std::span(residual).last(10), 3.0f);
  for (const std::uint64_t round : {0u, 3u}) {
    EXPECT_FLOAT_EQ(ResidualRatio(residual, gradient, 1.0f, round), 0.0f);
    EXPECT_FLOAT_EQ(ResidualRatio(residual, gradient, 1.0f, round + 1), 2.0f);
    EXPECT_FLOAT_EQ(ResidualRatio(residual, gradient, 1.0f, round + 2), 3.0f);
  }
}

TEST(ResidualRatio, WhatHasNoneIsNotMeasured) {
  const Floats ones = {1.0f, 1.0f};
  const Floats broken = {1.0f, std::numeric_limits<float>::infinity()};
  EXPECT_LT(ResidualRatio(ones, Floats(2, 0.0f), 1.0f, 0), 0.0f);
  EXPECT_LT(ResidualRatio(ones, broken, 1.0f, 0), 0.0f);
  EXPECT_LT(ResidualRatio(broken, ones, 1.0f, 0), 0.0f);
  EXPECT_LT(ResidualRatio({}, {}, 1.0f, 0), 0.0f);
}

}  // namespace
}  // namespace weir
