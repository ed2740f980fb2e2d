#include "compression/codecs/randomk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "compression/codecs/random_indices.h"
#include "compression/make_compressor.h"
#include "compression/options/registry.h"
#include "compression/random/counter_random.h"
#include "tests/compression/test_compressor.h"
#include "tests/compression/wire/wire_page.h"
#include "weir/error.h"

namespace weir {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

// The known answers of Random123, the authors' own library.
TEST(CounterRandom, IsPhilox) {
  using Block = CounterRandom::Block;
  EXPECT_EQ(CounterRandom(std::array<std::uint32_t, 2>{0, 0}).Draw(Block{0, 0, 0, 0}),
            (Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  constexpr std::uint32_t kOnes = 0xffffffff;
  EXPECT_EQ(CounterRandom(std::array{kOnes, kOnes}).Draw(Block{kOnes, kOnes, kOnes, kOnes}),
            (Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(CounterRandom(std::array<std::uint32_t, 2>{0xa4093822, 0x299f31d0})
                .Draw(Block{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}),
            (Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(CounterRandom, SeedTensorStepAndIndexAllCount) {
  std::set<CounterRandom::Block> seen;
  for (const std::uint64_t seed : {0, 1, 2}) {
    for (const char* tensor : {"a", "b", ""}) {
      for (const std::int64_t step : {0, 1, 1 << 20}) {
        for (const std::uint64_t index :
             {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1} << 33}) {
          seen.insert(CounterRandom(seed, tensor).Draw(step, index));
        }
      }
    }
  }
  EXPECT_EQ(seen.size(), 81u);
}

TEST(RandomIndices, AreSoManyDifferentOnesInOrder) {
  const CounterRandom random(1, "w");
  for (const auto& [n, k] : std::vector<std::pair<std::size_t, std::size_t>>{
           {1, 1}, {1, 0}, {64, 64}, {65, 64}, {1000, 1}, {1000, 999}, {100'000, 5000}}) {
    const auto indices = RandomIndices(random, 3, n, k);
    EXPECT_EQ(indices.size(), k);
    EXPECT_TRUE(std::ranges::is_sorted(indices, std::less_equal<>{}) || k < 2) << n << " " << k;
    EXPECT_TRUE(indices.empty() || indices.back() < n);
  }
}

TEST(RandomIndices, EverySetIsEquallyLikely) {
  // The 10 sets of 2 of 5 indices, 20,000 draws: chi squared with 9 degrees of freedom exceeds 33.7
  // once in 10,000 times.
  std::map<std::vector<std::uint32_t>, int> counts;
  const CounterRandom random(20181111, "w");
  for (std::int64_t step = 0; step < 20'000; ++step) ++counts[RandomIndices(random, step, 5, 2)];
  ASSERT_EQ(counts.size(), 10u);
  double chi_squared = 0;
  for (const auto& [indices, count] : counts)
    chi_squared += (count - 2000.0) * (count - 2000.0) / 2000;
  EXPECT_LT(chi_squared, 33.7);
}

CompressionOptions RandomKOptions(CompressionOptions more = {}) {
  more["compressor"] = "randomk";
  more.try_emplace("min_elements", "0");
  more.try_emplace("values", "fp32");
  return more;
}

std::vector<float> Counting(std::size_t n) {
  std::vector<float> values(n);
  std::iota(values.begin(), values.end(), 1.0f);
  return values;
}

TEST(RandomK, SendsSomeEntriesAsTheyAreAndNoIndex) {
  const auto compressor = MakeCompressor(RandomKOptions({{"k", "4"}}), TensorSpec{"w", Shape{10}});
  EXPECT_EQ(compressor->MaxEncodedBytes(1.0), 12u + 2 + 4 * 4);
  const auto gradient = Counting(10);
  const auto sent = test::SendAndReceive(*compressor, {.step = 5}, gradient);
  EXPECT_EQ(std::ranges::count(sent, 0.0f), 6);
  for (std::size_t i = 0; i < 10; ++i) EXPECT_TRUE(sent[i] == 0 || sent[i] == gradient[i]) << i;
}

TEST(RandomK, TheBytesAreThoseOfTheWireFormatsPage) {
  const auto part = [](const char* values) {
    const auto compressor = MakeCompressor(RandomKOptions({{"k", "4"}, {"values", values}}),
                                           TensorSpec{"w", Shape{10}});
    return test::Send(*compressor, {.step = 5}, Counting(10));
  };
  test::ExpectAsOnThePage(part("fp32"),
                          "05 00 00 00 00 00 00 00 04 00 00 00 "
                          "10 00 00 00 80 3f 00 00 a0 40 00 00 00 41 00 00 10 41");
  test::ExpectAsOnThePage(part("fp16"),
                          "05 00 00 00 00 00 00 00 04 00 00 00 00 f4 00 6c 00 75 00 78 80 78");
}

TEST(RandomK, AllRanksOfOneSeedDrawTheSamePlacesInEachStepOthers) {
  const auto places = [](const char* seed, const char* tensor, std::int64_t step) {
    const auto compressor = MakeCompressor(RandomKOptions({{"k", "0.1"}, {"seed", seed}}),
                                           TensorSpec{tensor, Shape{500}});
    return test::SendAndReceive(*compressor, {.step = step, .density = 0.1},
                                std::vector<float>(500, 1.0f));
  };
  EXPECT_EQ(places("0", "w", 1), places("0", "w", 1));
  EXPECT_NE(places("0", "w", 1), places("0", "w", 2));
  EXPECT_NE(places("0", "w", 1), places("1", "w", 1));
  EXPECT_NE(places("0", "w", 1), places("0", "b", 1));
}

TEST(RandomK, UnbiasedIsRightOnAverage) {
  const auto compressor =
      MakeCompressor(RandomKOptions({{"k", "2"}, {"unbiased", "true"}}), TensorSpec{"w", Shape{8}});
  const auto gradient = Counting(8);
  std::vector<double> mean(8);
  constexpr int kSteps = 20'000;
  for (int step = 0; step < kSteps; ++step) {
    const auto sent = test::SendAndReceive(*compressor, {.step = step}, gradient);
    for (std::size_t i = 0; i < 8; ++i) mean[i] += sent[i] / kSteps;
  }
  // The standard deviation of an entry of size g is g * sqrt(3), of the mean of these that / sqrt
  // (20,000); five of them.
  for (std::size_t i = 0; i < 8; ++i) EXPECT_NEAR(mean[i], gradient[i], 0.062 * gradient[i]) << i;
}

TEST(RandomK, UnbiasedAndErrorFeedbackContradictEachOther) {
  EXPECT_THAT(
      [] {
        MakeCompressor(RandomKOptions({{"unbiased", "true"}, {"ef", "vanilla"}}),
                       TensorSpec{"w", Shape{8}});
      },
      ThrowsMessage<InvalidArgument>(HasSubstr("leave one of them out")));
}

TEST(RandomK, PartsOfDifferentStepsAreMergedOneByOne) {
  const auto compressor = MakeCompressor(RandomKOptions({{"k", "4"}}), TensorSpec{"w", Shape{10}});
  const auto a = test::Send(*compressor, {.step = 1}, Counting(10));
  const auto b = test::Send(*compressor, {.step = 2}, Counting(10));
  const std::vector<std::span<const std::byte>> payloads = {a, b};
  std::vector<float> expected(10);
  for (const auto& payload : payloads) compressor->Merge(payload, expected);
  for (float& value : expected) value /= 2.0f;
  std::vector<float> mean(10, 7.0f);
  compressor->MergeMean(payloads, mean);
  EXPECT_EQ(mean, expected);
}

}  // namespace
}  // namespace weir
