#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>

#include "common/supervision/rank_totals.h"
#include "tests/launcher/job/elastic_job_fixture.h"

namespace weir::launcher {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class EndsTest : public ElasticJobTest {
 protected:
  void Exit(int process, int code = 0) { Say(process, MessageType::kExited, code); }
  /// The network of `who` loses the rank `whom`, which lives.
  void FailToMeet(int who, const std::string& whom) {
    Say(who, MessageType::kUnheard, 2, whom);
    Say(who, MessageType::kAbort, 0, "sending to rank " + whom + " failed");
  }
};

TEST_F(EndsTest, WhoEndsBeforeAnyoneHasJoinedIsGoneOnWithout) {
  for (int p = 0; p < 4; ++p) Say(p, MessageType::kHello);
  Exit(1);
  Pass(seconds(2));
  EXPECT_THAT(said_, IsEmpty());  // The program may have no engine at all.
  for (const int p : {0, 2, 3}) Say(p, MessageType::kAttach);
  EXPECT_THAT(said_, ElementsAre("rank 1 on a: exited before it had joined the job with init() or "
                                 "Engine::Create (exit code 0); 3 ranks are left"));
  EXPECT_EQ(PlaceOf(3), "2 on b of a:1,b:2 in epoch 1");
  Pass(seconds(60));
  EXPECT_FALSE(job_.over());
}

TEST_F(EndsTest, WhoEndsWhileOthersJoinIsGoneOnWithout) {
  for (int p = 0; p < 4; ++p) Say(p, MessageType::kHello);
  for (const int p : {0, 2}) Say(p, MessageType::kAttach);
  Exit(1);
  Exit(3);
  EXPECT_EQ(PlaceOf(2), "1 on b of a:1,b:1 in epoch 1");
  EXPECT_THAT(said_, ElementsAre(HasSubstr("rank 1 on a: exited before it had joined"),
                                 HasSubstr("rank 3 on b: exited before it had joined")));
  EXPECT_FALSE(job_.ending());
}

TEST_F(EndsTest, TooFewThatJoinEndTheJob) {
  for (int p = 0; p < 4; ++p) Say(p, MessageType::kHello);
  for (const int p : {1, 2, 3}) Exit(p);
  Pass(seconds(1));
  EXPECT_FALSE(job_.ending());
  Say(0, MessageType::kAttach);
  EXPECT_TRUE(job_.ending());
  EXPECT_EQ(job_.exit_code(), 1);
  EXPECT_THAT(job_.verdict(), AllOf(HasSubstr("rank 1 on a: exited before it had joined the job"),
                                    HasSubstr("1 rank is left, and --min-np asks for 2")));
}

TEST_F(EndsTest, ProgramsWithoutAnEngineEndAsTheyLike) {
  for (int p = 0; p < 4; ++p) Say(p, MessageType::kHello);
  Exit(2);
  Pass(seconds(100));
  EXPECT_FALSE(job_.over());
  EXPECT_THAT(started_, IsEmpty());
  for (const int p : {0, 1, 3}) Exit(p);
  EXPECT_TRUE(job_.over());
  EXPECT_EQ(job_.exit_code(), 0);
  EXPECT_EQ(job_.verdict(), "");
  EXPECT_THAT(said_, IsEmpty());
}

TEST_F(EndsTest, WhoEndsAsItWaitsForTheOthersHasNotFinished) {
  for (int p = 0; p < 4; ++p) Say(p, MessageType::kHello);
  Say(1, MessageType::kAttach);
  Exit(1);
  EXPECT_THAT(said_, ElementsAre(HasSubstr("rank 1 on a: exited before it had joined")));
  for (const int p : {0, 2, 3}) Say(p, MessageType::kAttach);
  EXPECT_EQ(PlaceOf(0), "0 on a of a:1,b:2 in epoch 1");
}

TEST_F(EndsTest, WhoFinishesWhileOthersGoOnIsTold) {
  StartAll();
  Say(1, MessageType::kLeave);
  Exit(1);
  EXPECT_THAT(said_, IsEmpty());  // All may do so now.
  for (const int p : {0, 2, 3}) Say(p, MessageType::kAttach);
  EXPECT_THAT(said_, ElementsAre("rank 1 on a has finished (exit code 0)",
                                 HasSubstr("3 ranks go on after")));
  said_.clear();
  Say(3, MessageType::kExited, SIGKILL);
  for (const int p : {0, 2}) Say(p, MessageType::kAttach);
  EXPECT_THAT(said_, Not(Contains(HasSubstr("has finished"))));
}

TEST_F(EndsTest, ARankIsNamedWithTheNumberOfItsOutputWhereThatDiffers) {
  StartAll();
  Exit(0, SIGKILL);
  Meet({1, 2, 3});
  Exit(3, SIGKILL);
  EXPECT_EQ(said_.back(),
            "rank 2 (process 3 of the output) on b: signal 9 (Killed); 2 ranks are left");
  EXPECT_THAT(job_.ranks(), ElementsAre(0, 0, 1, 2));
}

TEST_F(EndsTest, RanksThatDoNotReachEachOtherEndTheJobAfterAFewEpochs) {
  for (int p = 0; p < 4; ++p) Say(p, MessageType::kHello);
  for (int p = 0; p < 4; ++p) Say(p, MessageType::kAttach);
  FailToMeet(1, "0");
  for (int p = 0; p < 4; ++p) Say(p, MessageType::kAttach);
  EXPECT_EQ(PlaceOf(1), "1 on a of a:2,b:2 in epoch 2");  // The first time at once.
  FailToMeet(1, "0");
  for (int p = 0; p < 4; ++p) Say(p, MessageType::kAttach);
  EXPECT_EQ(PlaceOf(1), "1 on a of a:2,b:2 in epoch 2");
  EXPECT_EQ(job_.deadline(), now_ + seconds(1));
  Pass(milliseconds(999));
  EXPECT_EQ(PlaceOf(1), "1 on a of a:2,b:2 in epoch 2");
  Pass(milliseconds(1));
  EXPECT_EQ(PlaceOf(1), "1 on a of a:2,b:2 in epoch 3");
  FailToMeet(1, "0");
  EXPECT_TRUE(job_.ending());
  EXPECT_EQ(job_.exit_code(), 1);
  EXPECT_EQ(job_.verdict(),
            "rank 1 on a does not reach rank 0 on a: sending to rank 0 failed; 3 epochs in a row "
            "have ended so, before a rank was ready; give the network with --network-interface, or "
            "look at UCX_TLS and UCX_NET_DEVICES; without --min-np, --transport mpi is another "
            "way");
}

TEST_F(EndsTest, WhoDoesNotReachWhomMayBeUnknown) {
  StartAll();
  for (int epoch = 0; epoch < 3; ++epoch) {
    EXPECT_FALSE(job_.ending());
    Say(2, MessageType::kAbort, 0, "the clock failed");
    Pass(seconds(1));
    Meet({0, 1, 2, 3});
  }
  EXPECT_THAT(job_.verdict(),
              AllOf(HasSubstr("rank 2 on b: the clock failed; 3 epochs in a row have ended so"),
                    HasSubstr("if ranks do not reach each other, give the network with")));
}

TEST_F(EndsTest, EpochsInWhichARankWasReadyAreNotCounted) {
  StartAll();
  for (int epoch = 0; epoch < 9; ++epoch) {
    Say(0, MessageType::kReady);
    FailToMeet(1, "0");
    EXPECT_FALSE(job_.ending()) << epoch;
    Pass(seconds(1));
    Meet({0, 1, 2, 3});
  }
}

TEST_F(EndsTest, EpochsWithStepsAreNotCounted) {
  RankTotals totals;
  totals.durations.Add(1);
  StartAll();
  for (int epoch = 0; epoch < 9; ++epoch) {
    Say(2, MessageType::kTotals, 0, ToText({}));
    Say(2, MessageType::kTotals, 0, "nonsense");
    Say(3, MessageType::kTotals, 0, ToText(totals));
    FailToMeet(1, "0");
    EXPECT_FALSE(job_.ending()) << epoch;
    Pass(seconds(1));
    Meet({0, 1, 2, 3});
  }
}

TEST_F(EndsTest, ALossBeginsTheCountAnew) {
  StartAll();
  for (int epoch = 0; epoch < 2; ++epoch) {
    FailToMeet(1, "0");
    Meet({0, 1, 2, 3});
  }
  Pass(seconds(1));
  Say(3, MessageType::kExited, SIGKILL);
  Meet({0, 1, 2});
  FailToMeet(1, "0");
  Meet({0, 1, 2});
  EXPECT_FALSE(job_.ending());
}

TEST_F(EndsTest, HostsThatAreBeingPartedAreNoReasonToEnd) {
  StartAll();
  for (int epoch = 0; epoch < 2; ++epoch) {
    Say(3, MessageType::kAbort, 0, "a sum is wrong");
    Pass(seconds(1));
    Meet({0, 1, 2, 3});
  }
  Say(0, MessageType::kUnheard, 1, "2");
  Say(2, MessageType::kUnheard, 1, "0");
  Say(2, MessageType::kAbort, 0, "an exchange stands still");
  EXPECT_THAT(Told(MessageType::kKill), ElementsAre(2, 3));
  EXPECT_FALSE(job_.ending());
}

}  // namespace
}  // namespace weir::launcher
