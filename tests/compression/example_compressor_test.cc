#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <vector>

#include "compression/make_compressor.h"
#include "compression/options/registry.h"
#include "tests/compression/test_compressor.h"
#include "weir/engine.h"
#include "weir/error.h"
#include "weir/optimizer.h"

// The compressor of docs/how-to/add-a-compressor.md, through the interface that its users see.
namespace weir {
namespace {

const TensorSpec kTensor{.name = "weight", .shape = Shape{6}};
const CompressionOptions kByte = {{"compressor", "byte"}, {"min_elements", "1"}};

TEST(ExampleCompressor, IsMadeByNameAndKeepsEveryEntryWithinHalfAStep) {
  const auto compressor = MakeCompressor(kByte, kTensor);
  const std::vector<float> gradient = {1.27f, -0.5f, 0.004f, 0.0f, -1.27f, 0.9f};
  const auto received = test::SendAndReceive(*compressor, StepContext{}, gradient);
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    EXPECT_NEAR(received[i], gradient[i], 0.005f + 1e-6f) << i;
  }
}

// In a training whose ranks send it to each other. The optimizer, which is SGD, subtracts the mean.
TEST(ExampleCompressor, CanBeAskedForByAJobOfTwoRanks) {
  RunLocal(2, [](Engine& engine) {
    const bool second = engine.rank() == 1;
    std::vector<float> value(6), gradient(6);
    auto options = kByte;
    options.insert({{"ef", "vanilla"}, {"policy", "always"}});
    DistributedOptimizer optimizer(
        engine, {{.name = "w", .value = value, .gradient = gradient, .shape = Shape{6}}},
        {.compression = options});
    const std::vector<float> first_rank = {1.27f, -0.5f, 0.004f, 0.0f, -1.27f, 0.9f};
    for (int step = 0; step < 3; ++step) {
      for (std::size_t i = 0; i < 6; ++i) gradient[i] = second ? 1.27f : first_rank[i];
      optimizer.BeginStep(1.0f);
      optimizer.GradientReady(0);
      // A frame's header, how long its parts are, and 10 bytes for 24.
      EXPECT_EQ(optimizer.Step().wire_bytes, 48u + 1u + 10u);
    }
    for (std::size_t i = 0; i < 6; ++i) {
      // The rest kept back is at most half a step of 0.01 on each rank.
      EXPECT_NEAR(value[i], -3.0f * (first_rank[i] + 1.27f) / 2.0f, 0.005f + 1e-5f) << i;
    }
  });
}

TEST(ExampleCompressor, ErrorFeedbackSendsLaterWhatRoundingLost) {
  auto options = kByte;
  options["ef"] = "vanilla";
  const auto compressor = MakeCompressor(options, kTensor);
  const std::vector<float> gradient = {1.27f, 0.004f, 0.001f, 0.0f, 0.0f, 0.0f};
  constexpr int kSteps = 1000;
  double total = 0.0;
  for (int step = 0; step < kSteps; ++step) {
    total += static_cast<double>(test::SendAndReceive(*compressor, StepContext{}, gradient)[2]);
  }
  EXPECT_NEAR(total, kSteps * 0.001, 0.01);
}

TEST(ExampleCompressor, RefusesWhatItCannotHaveWritten) {
  const auto compressor = MakeCompressor(kByte, kTensor);
  auto payload = test::Send(*compressor, StepContext{}, {1, 2, 3, 4, 5, 6});
  std::vector<float> sum(6, 7.0f);
  payload.pop_back();
  EXPECT_THROW(compressor->Merge(payload, sum), Corrupt);
  payload.push_back(std::byte{0});
  payload[3] = std::byte{0xff};  // The scale's sign and exponent.
  EXPECT_THROW(compressor->Merge(payload, sum), Corrupt);
  payload[3] = std::byte{0x7f};  // Finite, but not 127 of it.
  payload[2] = std::byte{0x7f};
  EXPECT_THROW(compressor->Merge(payload, sum), Corrupt);
  payload[3] = std::byte{0x3f};
  EXPECT_NO_THROW(compressor->Check(payload));
  payload[4] = std::byte{0x80};  // -128
  EXPECT_THROW(compressor->Merge(payload, sum), Corrupt);
  EXPECT_EQ(sum, std::vector<float>(6, 7.0f));
}

}  // namespace
}  // namespace weir
