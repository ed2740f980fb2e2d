#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "compression/codecs/select_top_k.h"
#include "compression/make_compressor.h"
#include "compression/options/registry.h"
#include "compression/wire/sparse_payload.h"
#include "tests/compression/test_compressor.h"

namespace weir {
namespace {

using testing::ElementsAre;

/// By definition: sort by falling magnitude, then rising index.
std::vector<std::uint32_t> BruteForce(const std::vector<float>& values, std::size_t k) {
  std::vector<std::uint32_t> order(values.size());
  std::iota(order.begin(), order.end(), 0u);
  std::ranges::stable_sort(order, [&values](std::uint32_t a, std::uint32_t b) {
    return std::abs(values[a]) > std::abs(values[b]);
  });
  order.resize(std::min(k, order.size()));
  std::ranges::sort(order);
  return order;
}

TEST(TopK, TiesGoToTheLowerIndex) {
  EXPECT_THAT(SelectTopK(std::vector<float>{1, -2, 2, 1, 2, -2}, 3), ElementsAre(1, 2, 4));
  EXPECT_THAT(SelectTopK(std::vector<float>(10, 0.0f), 4), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(SelectTopK(std::vector<float>{0.0f, -0.0f, 0.0f}, 2), ElementsAre(0, 1));
}

TEST(TopK, EqualsSortingOnRandomTensors) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  for (int round = 0; round < 300; ++round) {
    std::vector<float> values(1 + random() % 2000);
    // A coarse grid in every other round, so that ties are many.
    const float grid = round % 2 == 0 ? 0.25f : 1e-6f;
    for (float& value : values) value = grid * std::round(normal(random) / grid);
    const std::size_t k = random() % (values.size() + 3);
    ASSERT_EQ(SelectTopK(values, k), BruteForce(values, k)) << values.size() << " " << k;
  }
}

TEST(TopK, EveryMagnitudeCounts) {
  const float tiny = std::numeric_limits<float>::denorm_min();
  const float huge = std::numeric_limits<float>::max();
  EXPECT_THAT(SelectTopK(std::vector<float>{0, tiny, 0, -2 * tiny}, 1), ElementsAre(3));
  EXPECT_THAT(SelectTopK(std::vector<float>{huge, 1, -huge}, 2), ElementsAre(0, 2));
}

CompressionOptions TopKOptions(CompressionOptions more) {
  more["compressor"] = "topk";
  more.try_emplace("min_elements", "0");
  return more;
}

TEST(TopKCompressor, SendsExactlyTheLargestAndZerosElsewhere) {
  const auto compressor =
      MakeCompressor(TopKOptions({{"values", "fp32"}}), TensorSpec{"w", Shape{8}});
  const std::vector<float> gradient = {0.1f, -3, 0.2f, 4, 0.5f, -0.6f, 0, 1};
  EXPECT_EQ(test::SendAndReceive(*compressor, {.density = 0.25}, gradient),
            (std::vector<float>{0, -3, 0, 4, 0, 0, 0, 0}));
  EXPECT_EQ(test::SendAndReceive(*compressor, {.density = 1.0}, gradient), gradient);
  EXPECT_EQ(compressor->MaxEncodedBytes(0.25), SparsePayloadBytes(8, 2, ValueType::kFloat32));
}

TEST(TopKCompressor, AFixedCountIgnoresTheDensity) {
  const auto compressor = MakeCompressor(TopKOptions({{"k", "3"}}), TensorSpec{"w", Shape{8}});
  const auto sent = test::SendAndReceive(*compressor, {.density = 1.0}, {8, 7, 6, 5, 4, 3, 2, 1});
  EXPECT_EQ(std::ranges::count(sent, 0.0f), 5);
}

TEST(TopKCompressor, ACountAboveTheTensorSendsAll) {
  const auto compressor = MakeCompressor(TopKOptions({{"k", "100"}}), TensorSpec{"w", Shape{1}});
  EXPECT_EQ(test::SendAndReceive(*compressor, {}, {-2.0f}), std::vector<float>{-2.0f});
}

TEST(TopKCompressor, SmallTensorsTravelDense) {
  const CompressionOptions options = TopKOptions({{"min_elements", "100"}, {"ef", "vanilla"}});
  const auto small = MakeCompressor(options, TensorSpec{"bias", Shape{99}});
  const auto large = MakeCompressor(options, TensorSpec{"weight", Shape{10, 10}});
  EXPECT_EQ(small->summable(), DType::kFloat32);
  EXPECT_EQ(small->MaxEncodedBytes(0.1), 99u * 4);
  EXPECT_EQ(large->summable(), std::nullopt);
  EXPECT_EQ(large->MaxEncodedBytes(0.1), SparsePayloadBytes(100, 10, ValueType::kFloat16));
}

}  // namespace
}  // namespace weir
