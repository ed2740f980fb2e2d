#include "coordinator/rank/leaving.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

TEST(Leaving, BeginsWithTheFirstRankThatIsHeardOf) {
  Leaving leaving;
  EXPECT_FALSE(leaving.begun());
  leaving.Hear(-1);
  EXPECT_TRUE(leaving.begun());
  EXPECT_FALSE(leaving.leaves());
  EXPECT_EQ(leaving.Who(), "a rank");
  leaving.Hear(2);
  leaving.Hear(1);
  EXPECT_EQ(leaving.Who(), "rank 2");
  EXPECT_FALSE(leaving.overdue(1'000'000'000'000'000'000));
}

TEST(Leaving, IsThisRanksUntilItsDeadline) {
  Leaving leaving;
  leaving.Hear(2);
  leaving.Leave(100);
  EXPECT_EQ(leaving.Who(), "this rank");
  EXPECT_FALSE(leaving.overdue(100));
  EXPECT_TRUE(leaving.overdue(101));
}

}  // namespace
}  // namespace weir
