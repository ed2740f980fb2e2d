// A rank that ends in the middle of an exchange: the others' engines name it, weirrun names it and
// how it ended, and nothing is left.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <tuple>

#include "tests/launcher/launched_job.h"

namespace weir::launcher {
namespace {

using testing::HasSubstr;
using testing::Not;

struct Death {
  std::string deed;
  int code;
  std::string how;

  friend void PrintTo(const Death& death, std::ostream* out) { *out << death.deed; }
};

class Deaths : public testing::TestWithParam<std::tuple<std::string, Death>> {};

TEST_P(Deaths, AreToldToEverySurvivorAndToTheUser) {
  const auto& [work, death] = GetParam();
  LaunchedJob job({"-np", "3", WEIR_TEST_DOOMED_RANK, "1", work, death.deed});
  EXPECT_EQ(job.ExitCode(), death.code) << job.output();
  ExpectNothingLeft(job);
  const std::string end = "rank 1 on localhost";
  for (const char* survivor : {"[0] ", "[2] "}) {
    EXPECT_THAT(job.output(), HasSubstr(survivor + ("PeerLost: 1: " + end)));
  }
  EXPECT_THAT(job.output(), Not(HasSubstr("another error")));
  EXPECT_THAT(job.output(), HasSubstr("PeerLost: 1: " + end + " is lost: " + death.how));
  EXPECT_THAT(job.output(), HasSubstr("weirrun: " + end + ": " + death.how));
}

INSTANTIATE_TEST_SUITE_P(
    , Deaths,
    testing::Combine(testing::Values("allreduce", "dgc"),
                     testing::Values(Death{"kill", 137, "signal 9 (Killed)"},
                                     Death{"exit", 3, "exit code 3"},
                                     Death{"terminate", 134, "signal 6 (Aborted)"})),
    [](const auto& test) { return std::get<0>(test.param) + "_" + std::get<1>(test.param).deed; });

// The program catches its own exception outside of the engine's life.
TEST(Unwinding, InTheMiddleOfAStepEndsTheJobWithTheReason) {
  LaunchedJob job({"-np", "3", WEIR_TEST_DOOMED_RANK, "1", "dgc", "unwind"});
  EXPECT_NE(job.ExitCode(), 0);
  ExpectNothingLeft(job);
  EXPECT_THAT(job.output(), HasSubstr("[1] unwound: the data set is gone"));
  for (const char* survivor : {"[0] ", "[2] "}) {
    EXPECT_THAT(job.output(), HasSubstr(std::string(survivor) + "PeerLost: 1: rank 1 ended"));
  }
  EXPECT_THAT(job.output(), HasSubstr("'model' was destroyed in the middle of step 5"));
}

TEST(RankZero, DiesLikeAnyOther) {
  LaunchedJob job({"-np", "4", WEIR_TEST_DOOMED_RANK, "0", "dgc", "kill"});
  EXPECT_EQ(job.ExitCode(), 137);
  ExpectNothingLeft(job);
  for (const char* survivor : {"[1] ", "[2] ", "[3] "}) {
    EXPECT_THAT(job.output(),
                HasSubstr(std::string(survivor) + "PeerLost: 0: rank 0 on localhost"));
  }
}

}  // namespace
}  // namespace weir::launcher
