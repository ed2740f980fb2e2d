// State of PowerSGD: taken back, saved, and moved to another number of ranks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "compression/make_compressor.h"
#include "compression/powersgd/powersgd.h"
#include "compression/state/state.h"
#include "tests/compression/powersgd/factor_ranks.h"
#include "tests/compression/test_compressor.h"
#include "weir/error.h"

namespace weir {
namespace {

using test::FactorRanks;
using test::Floats;

const Shape kShape{50, 30};
constexpr std::size_t kElements = 50 * 30;
const CompressionOptions kOptions = {
    {"compressor", "powersgd"}, {"rank", "3"}, {"min_elements", "0"}};

Floats Normal(unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  Floats values(kElements);
  for (float& value : values) value = normal(random);
  return values;
}

/// A job of one rank after a few steps, and what a reverted step must come to: the next gradient
/// beside the error.
class PowerSgdRevert : public testing::Test {
 protected:
  PowerSgdRevert() {
    for (unsigned step = 0; step < 3; ++step) job_.Step({.step = step}, {Normal(step)});
    expected_ = job_.StateOf(0, "error");
    for (std::size_t i = 0; i < kElements; ++i) expected_[i] = gradient_[i] + expected_[i];
  }

  FactorRanks job_{1, kOptions, kShape};
  const StepContext context_{.step = 3};
  const Floats gradient_ = Normal(3);
  Floats expected_;
  Floats first_ = Floats(job_.factors(0).first_size());
  Floats second_ = Floats(job_.factors(0).second_size());
};

TEST_F(PowerSgdRevert, AfterTheFirstFactorNothingWasSent) {
  const Floats factor = job_.StateOf(0, "factor");
  job_.factors(0).EncodeFirst(context_, gradient_, first_);
  job_[0].Revert();
  EXPECT_EQ(job_.StateOf(0, "error"), expected_);
  EXPECT_EQ(job_.StateOf(0, "factor"), factor);
}

TEST_F(PowerSgdRevert, AfterTheSecondFactorNothingWasSent) {
  const Floats factor = job_.StateOf(0, "factor");
  job_.factors(0).EncodeFirst(context_, gradient_, first_);
  job_.factors(0).EncodeSecond(context_, first_, second_);
  job_[0].Revert();
  EXPECT_EQ(job_.StateOf(0, "error"), expected_);
  EXPECT_EQ(job_.StateOf(0, "factor"), factor);
}

TEST_F(PowerSgdRevert, AfterDecodingWhatWasSentComesBackOnce) {
  job_.Step(context_, {gradient_});
  job_[0].Revert();
  job_[0].Revert();
  const Floats error = job_.StateOf(0, "error");
  for (std::size_t i = 0; i < kElements; ++i) ASSERT_NEAR(error[i], expected_[i], 1e-5);
}

TEST_F(PowerSgdRevert, TheStepAfterItSendsBothGradients) {
  job_.factors(0).EncodeFirst(context_, gradient_, first_);
  job_[0].Revert();
  FactorRanks other(1, kOptions, kShape);
  for (unsigned step = 0; step < 3; ++step) other.Step({.step = step}, {Normal(step)});
  Floats both = gradient_;
  const Floats next = Normal(4);
  for (std::size_t i = 0; i < kElements; ++i) both[i] += next[i];
  const Floats update = job_.Step({.step = 4}, {next});
  const Floats expected = other.Step({.step = 4}, {both});
  for (std::size_t i = 0; i < kElements; ++i) ASSERT_NEAR(update[i], expected[i], 1e-3);
}

TEST_F(PowerSgdRevert, TheWayOfOneExchangeSendsEverything) {
  Floats received = test::SendAndReceive(job_[0], context_, gradient_);
  EXPECT_EQ(received, expected_);
  job_[0].Finish(context_, received);
  EXPECT_EQ(received, expected_);
  EXPECT_THAT(job_.StateOf(0, "error"), testing::Each(0.0f));
}

TEST_F(PowerSgdRevert, TheWayOfOneExchangeIsTakenBackToo) {
  test::Send(job_[0], context_, gradient_);
  job_[0].Revert();
  EXPECT_EQ(job_.StateOf(0, "error"), expected_);
}

TEST(PowerSgdState, IsTheErrorAndTheFactorAsFarAsTheyAreUsed) {
  const auto names_of = [](CompressionOptions options) {
    options.insert(kOptions.begin(), kOptions.end());
    std::vector<std::pair<std::string, std::size_t>> names;
    for (const auto& array : MakeCompressor(options, TensorSpec{"w", kShape})->State()) {
      names.emplace_back(array.name, array.values.size());
    }
    return names;
  };
  using testing::ElementsAre;
  using testing::Pair;
  EXPECT_THAT(names_of({}), ElementsAre(Pair("error", kElements), Pair("factor", 3 * 30)));
  EXPECT_THAT(names_of({{"ef", "none"}}), ElementsAre(Pair("factor", 3 * 30)));
  EXPECT_THAT(names_of({{"warm_start", "false"}}), ElementsAre(Pair("error", kElements)));
}

SavedState StateOf(FactorRanks& job, std::size_t rank) {
  const NamedCompressor named[] = {{"w", &job[rank]}};
  SavedState state = Collect(named);
  state.ranks = static_cast<int>(job.ranks());
  state.rank = static_cast<int>(rank);
  return state;
}

TEST(PowerSgdState, AResumedJobGoesOnWithTheSameBits) {
  FactorRanks never_stopped(1, kOptions, kShape);
  for (unsigned step = 0; step < 5; ++step) never_stopped.Step({.step = step}, {Normal(step)});
  const auto saved = Serialize(StateOf(never_stopped, 0));
  FactorRanks resumed(1, kOptions, kShape);
  resumed.Step({.step = 99}, {Normal(99)});  // Leaves other state behind, which must go.
  const NamedCompressor named[] = {{"w", &resumed[0]}};
  Restore(Deserialize(saved), named);
  for (unsigned step = 5; step < 10; ++step) {
    EXPECT_EQ(resumed.Step({.step = step}, {Normal(step)}),
              never_stopped.Step({.step = step}, {Normal(step)}))
        << step;
  }
}

TEST(PowerSgdState, OfAnotherRankDoesNotFit) {
  FactorRanks job(1, kOptions, kShape);
  CompressionOptions wider = kOptions;
  wider["rank"] = "4";
  FactorRanks other(1, wider, kShape);
  const NamedCompressor named[] = {{"w", &other[0]}};
  EXPECT_THROW(Restore(StateOf(job, 0), named), InvalidArgument);
}

TEST(PowerSgdState, TheFactorGoesToEveryRankOfALargerJobUnchanged) {
  FactorRanks job(2, kOptions, kShape);
  for (unsigned step = 0; step < 3; ++step) {
    job.Step({.step = step}, {Normal(step), Normal(100 + step)});
  }
  const SavedState old[] = {StateOf(job, 0), StateOf(job, 1)};
  const int origins[] = {0, 1, kNewRank};
  for (int rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(Remap(old, origins, rank).arrays[1].values, job.StateOf(0, "factor")) << rank;
  }
  EXPECT_NE(Remap(old, origins, 0).arrays[0].values, job.StateOf(0, "error"));
}

}  // namespace
}  // namespace weir
