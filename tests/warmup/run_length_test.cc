#include "warmup/run_length.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(RunLength, EveryEntryIsSentTenTimesWithinTheLimits) {
  for (const std::int64_t steps : {40, 100, 1'000, 9'999, 10'000}) {
    EXPECT_DOUBLE_EQ(DensityForRun(steps) * static_cast<double>(steps), 10.0) << steps;
  }
  EXPECT_EQ(DensityForRun(10'000'000), 0.001);
  EXPECT_EQ(DensityForRun(39), 0.25);
  EXPECT_EQ(DensityForRun(1), 0.25);
}

TEST(RunLength, AShortRunIsToldWhatToDo) {
  EXPECT_THAT(ShortRunWarning("model", 1'000, 0.001),
              AllOf(HasSubstr("'model'"), HasSubstr("1000 steps at density 0.001"),
                    HasSubstr("sent 1 times"), HasSubstr("density=auto (here 0.01), or")));
  EXPECT_NE(ShortRunWarning("model", 2'999, 0.001), "");
  EXPECT_EQ(ShortRunWarning("model", 3'000, 0.001), "");
  EXPECT_EQ(ShortRunWarning("model", 12, 0.25), "");
}

TEST(RunLength, ARunThatWasShortIsToldWhatToDoNextTime) {
  EXPECT_THAT(EndedShortWarning("model", 1'000, 0.001),
              AllOf(HasSubstr("run was short for 'model'"),
                    HasSubstr("1000 steps at density 0.001"), HasSubstr("was sent 1 times"),
                    HasSubstr("density=auto and steps=1000 (that is 0.01), or")));
  EXPECT_NE(EndedShortWarning("model", 2'999, 0.001), "");
  EXPECT_EQ(EndedShortWarning("model", 3'000, 0.001), "");
  EXPECT_EQ(EndedShortWarning("model", 0, 0.001), "");
}

TEST(RunLength, ARunThatNeverCompressesIsNoMatter) {
  EXPECT_EQ(ShortRunWarning("model", 0, 0.001), "");
  EXPECT_EQ(ShortRunWarning("model", -5, 0.001), "");
}

}  // namespace
}  // namespace weir
