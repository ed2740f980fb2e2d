#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "examples/01-byte-lm/data.h"
#include "weir/error.h"

namespace byte_lm {
namespace {

std::vector<std::uint8_t> Counting(std::size_t size) {
  std::vector<std::uint8_t> bytes(size);
  std::iota(bytes.begin(), bytes.end(), std::uint8_t{0});
  return bytes;
}

bool Equal(const Batch& a, const Batch& b) {
  return a.contexts == b.contexts && a.targets == b.targets;
}

TEST(Text, TheLastTenthIsForValidation) {
  const Text text(Counting(105));
  EXPECT_EQ(text.train().size(), 95u);
  ASSERT_EQ(text.validation().size(), 10u);
  EXPECT_EQ(text.validation().front(), 95);
  EXPECT_EQ(text.validation().back(), 104);
}

TEST(Text, AMissingFileIsNamed) {
  try {
    Text::Load("no/such/file.txt");
    FAIL() << "loaded a file that does not exist";
  } catch (const weir::InvalidArgument& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("no/such/file.txt"));
  }
}

TEST(Text, TooShortForOneWindowIsAnError) {
  EXPECT_THROW(CountWindows(24, 24), weir::InvalidArgument);
  EXPECT_EQ(CountWindows(25, 24), 1u);
}

TEST(Sampler, TargetsAreTheBytesAfterTheirWindows) {
  const std::vector<std::uint8_t> bytes = Counting(200);
  const Sampler sampler(bytes, 5, 7);
  Batch batch(5, 64);
  sampler.Fill(3, 1, batch);
  for (int column = 0; column < batch.size(); ++column) {
    for (int i = 0; i < 5; ++i) {
      EXPECT_EQ(batch.contexts(i, column), batch.contexts(0, column) + i);
    }
    EXPECT_EQ(batch.targets[static_cast<std::size_t>(column)], batch.contexts(0, column) + 5);
  }
}

TEST(Sampler, ABatchDependsOnSeedStepAndRankAlone) {
  const std::vector<std::uint8_t> bytes = Counting(256);
  const Sampler sampler(bytes, 5, 7);
  Batch first(5, 32);
  sampler.Fill(10, 2, first);

  Batch other(5, 32);
  for (const auto& [step, rank] : {std::pair{10, 1}, {10, 3}, {9, 2}, {11, 2}, {2, 10}}) {
    sampler.Fill(step, rank, other);
    EXPECT_FALSE(Equal(first, other)) << "step " << step << " rank " << rank;
  }
  Sampler(bytes, 5, 8).Fill(10, 2, other);
  EXPECT_FALSE(Equal(first, other)) << "another seed";

  Sampler(bytes, 5, 7).Fill(10, 2, other);
  EXPECT_TRUE(Equal(first, other)) << "the same key after other draws";
}

// A saved experiment is comparable with a new one only if the order never changes.
TEST(Sampler, TheOrderIsPinned) {
  const std::vector<std::uint8_t> bytes = Counting(256);
  Batch batch(1, 4);
  Sampler(bytes, 1, 1).Fill(0, 0, batch);
  EXPECT_THAT(std::vector<int>(batch.contexts.data(), batch.contexts.data() + 4),
              testing::ElementsAre(11, 89, 116, 146));
}

TEST(Sampler, EveryWindowIsDrawnAboutEquallyOften) {
  constexpr int kWindows = 100;
  constexpr int kSteps = 2000;
  const std::vector<std::uint8_t> bytes = Counting(kWindows + 1);
  const Sampler sampler(bytes, 1, 1);
  Batch batch(1, 50);
  std::vector<int> drawn(kWindows + 1);
  for (int step = 0; step < kSteps; ++step) {
    sampler.Fill(step, 0, batch);
    for (int column = 0; column < batch.size(); ++column) ++drawn[batch.contexts(0, column)];
  }
  // 1000 expected of each; the draws are pinned by the seed, so 6 standard deviations cannot flake.
  for (int window = 0; window < kWindows; ++window) EXPECT_NEAR(drawn[window], 1000, 190) << window;
  EXPECT_EQ(drawn[kWindows], 0) << "the last byte starts no window";
}

}  // namespace
}  // namespace byte_lm
