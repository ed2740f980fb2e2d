#include "ops/grouped/fused_runs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir {
namespace {

using testing::ElementsAre;
using Runs = std::vector<std::vector<std::size_t>>;

constexpr std::size_t kSmall = FusedRuns::kSmallBytes;

Runs RunsOf(FusedRuns& planned) {
  Runs runs;
  for (std::size_t i = 0; i < planned.size(); ++i) {
    runs.emplace_back(planned[i].begin(), planned[i].end());
  }
  return runs;
}

Runs Planned(const std::vector<FusedRuns::Item>& items) {
  FusedRuns runs;
  runs.Plan(items);
  return RunsOf(runs);
}

TEST(FusedRuns, SmallItemsOfAKindShareARunAndLargeOnesHaveOneEach) {
  EXPECT_THAT(Planned({{8, 1}, {kSmall + 1, 1}, {8, 2}, {kSmall, 1}, {kSmall + 1, 1}, {4, 2}}),
              ElementsAre(ElementsAre(0, 3), ElementsAre(1), ElementsAre(2, 5), ElementsAre(4)));
}

TEST(FusedRuns, ItemsOfNothingAreInNone) {
  EXPECT_THAT(Planned({{0, 1}, {8, 1}, {0, 1}, {8, 1}}), ElementsAre(ElementsAre(1, 3)));
  EXPECT_THAT(Planned({{0, 1}}), ElementsAre());
  EXPECT_THAT(Planned({}), ElementsAre());
}

TEST(FusedRuns, AreOfBoundedLength) {
  constexpr std::size_t kFitting = FusedRuns::kFusedBytes / kSmall;
  const Runs runs = Planned(std::vector<FusedRuns::Item>(kFitting + 1, {kSmall, 0}));
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs.front().size(), kFitting);
  EXPECT_THAT(runs.back(), ElementsAre(kFitting));
}

TEST(FusedRuns, MayBePlannedAgain) {
  FusedRuns runs;
  runs.Plan(std::vector<FusedRuns::Item>(40, {kSmall, 0}));
  runs.Plan(std::vector<FusedRuns::Item>{{1, 0}, {1, 1}, {1, 0}});
  EXPECT_THAT(RunsOf(runs), ElementsAre(ElementsAre(0, 2), ElementsAre(1)));
}

}  // namespace
}  // namespace weir
