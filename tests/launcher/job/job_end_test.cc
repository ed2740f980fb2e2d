#include <gtest/gtest.h>

#include <csignal>

#include "launcher/job/fixed_job.h"
#include "tests/launcher/job/job_fixture.h"

namespace weir::launcher {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// A job whose ranks have all joined and left.
class JobEndTest : public JobTest {
 protected:
  JobEndTest() {
    StartAll();
    for (int rank = 0; rank < 3; ++rank) Say(rank, MessageType::kLeave);
  }
  Ranks Answered(int code) {
    Ranks ranks;
    for (const auto& [rank, message] : sent_) {
      if (message.type == MessageType::kFinalize && message.code == code) ranks.push_back(rank);
    }
    return ranks;
  }
};

TEST_F(JobEndTest, MpiIsFinalisedWhenAllRanksWould) {
  Say(2, MessageType::kFinalizing);
  Say(0, MessageType::kFinalizing);
  EXPECT_EQ(Told(MessageType::kFinalize), Ranks{});
  Say(1, MessageType::kFinalizing);
  EXPECT_EQ(Answered(1), (Ranks{0, 1, 2}));
  EXPECT_EQ(Answered(0), Ranks{});
  for (const int rank : Ranks{0, 1, 2}) Say(rank, MessageType::kExited);
  EXPECT_EQ(Told(MessageType::kFinalize).size(), 3U);  // Once.
  EXPECT_TRUE(job_.over());
  EXPECT_EQ(job_.exit_code(), 0);
}

TEST_F(JobEndTest, NobodyWaitsForARankThatEndedWithout) {
  Say(0, MessageType::kFinalizing);
  Say(1, MessageType::kExited);
  EXPECT_EQ(Answered(0), Ranks{0});
  Say(2, MessageType::kFinalizing);  // Later too.
  EXPECT_EQ(Answered(0), (Ranks{0, 2}));
  Say(0, MessageType::kExited);
  Say(2, MessageType::kExited);
  Pass(seconds(5));
  EXPECT_TRUE(job_.over());
  EXPECT_EQ(job_.exit_code(), 0);
}

TEST_F(JobEndTest, NobodyWaitsForARankWhoseSupervisorIsLost) {
  Say(0, MessageType::kFinalizing);
  job_.OnSupervisorLost(1, "its host is silent", now_);
  EXPECT_EQ(Answered(0), Ranks{0});
  EXPECT_EQ(job_.exit_code(), 1);
}

TEST_F(JobEndTest, NobodyWaitsInAJobThatIsEnding) {
  Say(0, MessageType::kFinalizing);
  job_.OnInterrupt(SIGINT, now_);
  EXPECT_EQ(Answered(0), Ranks{0});
  Say(1, MessageType::kFinalizing);
  EXPECT_EQ(Answered(0), (Ranks{0, 1}));
}

TEST_F(JobEndTest, WhoNeverWillIsNamed) {
  Say(1, MessageType::kExited);
  Say(0, MessageType::kFinalizing);
  EXPECT_EQ(Last().type, MessageType::kFinalize);
  EXPECT_EQ(Last().rank, 1);
}

// All ranks are in MPI when one asks, whatever they use it for.
TEST_F(JobTest, RanksThatHaveNotJoinedAreWaitedForToo) {
  StartAll();
  Say(0, MessageType::kFinalizing);
  Say(1, MessageType::kFinalizing);
  EXPECT_EQ(Told(MessageType::kFinalize), Ranks{});
  Say(2, MessageType::kFinalizing);
  EXPECT_EQ(Told(MessageType::kFinalize), (Ranks{0, 1, 2}));
}

/// Rank 1 asks before or after rank 0 waits for it again.
class JoinAgainTest : public JobEndTest, public testing::WithParamInterface<bool> {};

TEST_P(JoinAgainTest, WhoIsEndingCannotBeJoinedAgain) {
  if (GetParam()) Say(1, MessageType::kFinalizing);
  Say(0, MessageType::kAttach);
  if (!GetParam()) Say(1, MessageType::kFinalizing);
  Pass(milliseconds(999));
  EXPECT_FALSE(job_.ending());
  Pass(milliseconds(1));
  EXPECT_EQ(job_.verdict(),
            "rank 1 on a: is ending and so cannot join the job, where rank 0 on a waits for it");
}

INSTANTIATE_TEST_SUITE_P(AskedBeforeAndAfter, JoinAgainTest, testing::Bool());

}  // namespace
}  // namespace weir::launcher
