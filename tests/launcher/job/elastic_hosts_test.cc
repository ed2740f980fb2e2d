#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>

#include "tests/launcher/job/elastic_job_fixture.h"

namespace weir::launcher {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class GrowingJobTest : public ElasticJobTest {
 protected:
  GrowingJobTest()
      : ElasticJobTest(
            {.min_ranks = 2, .max_ranks = 6, .finds_hosts = true, .timeout = seconds(60)}) {}
  const std::vector<Host> first_ = {{"a", 2}, {"b", 2}};
  const std::vector<Host> more_ = {{"a", 2}, {"b", 2}, {"c", 1}};
};

TEST_F(GrowingJobTest, AHostThatComesIsStartedOnAndLetInWhenItsRankIsThere) {
  StartAll();
  job_.OnHosts(more_, now_);
  EXPECT_THAT(started_, ElementsAre(std::pair("c", 1)));
  sent_.clear();
  Say(4, MessageType::kHello);
  EXPECT_THAT(Told(MessageType::kHostsUpdated), IsEmpty());  // Nobody waits for a program to start.
  Say(4, MessageType::kAttach);
  EXPECT_THAT(Told(MessageType::kHostsUpdated), ElementsAre(0, 1, 2, 3));
  Pass(seconds(3600));  // Ranks that train on are not late.
  EXPECT_THAT(Told(MessageType::kKill), IsEmpty());
  for (const int p : {0, 1, 2, 3}) Say(p, MessageType::kLeave);
  Meet({3, 2, 1, 0});
  EXPECT_EQ(PlaceOf(0), "0 on a of a:2,b:2,c:1 in epoch 2");
  EXPECT_EQ(PlaceOf(4), "4 on c of a:2,b:2,c:1 in epoch 2");
}

TEST_F(GrowingJobTest, HostsThatAreKnownAreNotStartedOnAgain) {
  StartAll();
  for (int i = 0; i < 3; ++i) job_.OnHosts(more_, now_);
  EXPECT_THAT(started_, testing::SizeIs(1));
}

TEST_F(GrowingJobTest, NoMoreRanksThanAllowedAreStarted) {
  StartAll();
  job_.OnHosts({{"a", 2}, {"b", 2}, {"c", 8}}, now_);
  EXPECT_THAT(started_, testing::SizeIs(2));
}

TEST_F(GrowingJobTest, RanksOfAHostThatGoesAreLetOutAtTheirNextChance) {
  StartAll();
  sent_.clear();
  job_.OnHosts({{"a", 2}}, now_);
  EXPECT_THAT(Told(MessageType::kHostsUpdated), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(Told(MessageType::kTerminate), IsEmpty());
  for (int p = 0; p < 4; ++p) Say(p, MessageType::kLeave);
  for (int p = 3; p >= 0; --p) Say(p, MessageType::kAttach);
  EXPECT_THAT(Told(MessageType::kTerminate), ElementsAre(2, 3));
  EXPECT_EQ(PlaceOf(1), "1 on a of a:2 in epoch 2");
  for (const int p : {2, 3}) Say(p, MessageType::kStopped, SIGTERM);
  EXPECT_FALSE(job_.ending());
  EXPECT_THAT(said_, testing::Not(testing::Contains(HasSubstr("Terminated"))));
}

TEST_F(GrowingJobTest, OfAHostThatKeepsFewerSlotsTheNewestRanksAreLetOut) {
  StartAll();
  sent_.clear();
  job_.OnHosts({{"a", 1}, {"b", 2}}, now_);
  job_.OnHosts({{"a", 1}, {"b", 2}}, now_);
  EXPECT_THAT(Told(MessageType::kHostsUpdated), ElementsAre(0, 1, 2, 3));
  for (int p = 0; p < 4; ++p) Say(p, MessageType::kLeave);
  for (int p = 0; p < 4; ++p) Say(p, MessageType::kAttach);
  EXPECT_THAT(Told(MessageType::kTerminate), ElementsAre(1));
  EXPECT_EQ(PlaceOf(2), "1 on b of a:1,b:2 in epoch 2");
  EXPECT_THAT(started_, IsEmpty());
}

TEST_F(GrowingJobTest, TooFewRanksWaitForAHost) {
  StartAll();
  for (const int p : {1, 2, 3}) Say(p, MessageType::kExited, SIGKILL);
  EXPECT_FALSE(job_.ending());
  EXPECT_THAT(said_.back(), HasSubstr("1 rank is left, waiting for 2"));
  Say(0, MessageType::kAttach);
  EXPECT_EQ(said_.back(), "1 of 2 ranks: waiting up to 60 s (--elastic-timeout) for hosts");
  job_.OnHosts(more_, now_);
  Say(4, MessageType::kHello);
  Say(4, MessageType::kAttach);
  EXPECT_EQ(PlaceOf(0), "0 on a of a:1,c:1 in epoch 2");
}

TEST_F(GrowingJobTest, AWaitForHostsEnds) {
  StartAll();
  for (const int p : {1, 2, 3}) Say(p, MessageType::kExited, SIGKILL);
  Say(0, MessageType::kAttach);
  Pass(seconds(60));
  EXPECT_TRUE(job_.ending());
  EXPECT_EQ(job_.verdict(),
            "rank 1 on a: signal 9 (Killed); 1 rank is left, and --min-np asks for 2");
}

TEST_F(GrowingJobTest, WithoutASurvivorNobodyHasTheState) {
  StartAll();
  job_.OnHosts(more_, now_);
  Say(4, MessageType::kHello);
  for (const int p : {0, 1, 2}) Say(p, MessageType::kExited, SIGKILL);
  EXPECT_FALSE(job_.ending());
  Say(3, MessageType::kExited, SIGKILL);
  EXPECT_TRUE(job_.ending());
  EXPECT_THAT(job_.verdict(), HasSubstr("rank 0 on a: signal 9 (Killed); 1 rank is left"));
}

TEST_F(GrowingJobTest, WhoComesWhenTheOthersHaveFinishedIsSentAway) {
  StartAll();
  job_.OnHosts(more_, now_);
  Say(4, MessageType::kHello);
  for (const int p : {0, 1, 2, 3}) Say(p, MessageType::kLeave);
  for (const int p : {0, 1, 2, 3}) Say(p, MessageType::kExited, 0);
  Pass(seconds(2));
  EXPECT_THAT(Told(MessageType::kTerminate), ElementsAre(4));
  Say(4, MessageType::kStopped, SIGTERM);
  EXPECT_TRUE(job_.over());
  EXPECT_EQ(job_.exit_code(), 0);
}

TEST_F(GrowingJobTest, WhoHasFinishedIsNotReplaced) {
  StartAll();
  Say(0, MessageType::kLeave);
  Say(0, MessageType::kExited, 0);
  Pass(milliseconds(1));
  EXPECT_THAT(started_, IsEmpty());
}

TEST_F(GrowingJobTest, ARankThatIsStoppedWithItsSupervisorIsLost) {
  StartAll();
  sent_.clear();
  Say(2, MessageType::kStopped, SIGTERM);
  EXPECT_THAT(Told(MessageType::kPeerLost), ElementsAre(0, 1, 3));
}

TEST_F(GrowingJobTest, HostsThatAreAllReplacedHandOverWhatTheyHave) {
  StartAll();
  job_.OnHosts({{"c", 2}}, now_);
  EXPECT_THAT(started_, ElementsAre(std::pair("c", 1), std::pair("c", 1)));
  for (const int p : {4, 5}) {
    Say(p, MessageType::kHello);
    Say(p, MessageType::kAttach);
  }
  sent_.clear();
  for (int p = 0; p < 4; ++p) Say(p, MessageType::kLeave);
  Meet({0, 1, 2, 3});
  EXPECT_THAT(Told(MessageType::kTerminate), IsEmpty());
  EXPECT_EQ(PlaceOf(5), "5 on c of a:2,b:2,c:2 in epoch 2");
  sent_.clear();
  for (const int p : {4, 5}) Say(p, MessageType::kJoined);
  Say(4, MessageType::kReady);
  EXPECT_THAT(Told(MessageType::kHostsUpdated), ElementsAre(0, 1, 2, 3, 4, 5));
  Say(5, MessageType::kReady);
  for (int p = 0; p < 6; ++p) Say(p, MessageType::kLeave);
  sent_.clear();
  for (int p = 0; p < 6; ++p) Say(p, MessageType::kAttach);
  EXPECT_THAT(Told(MessageType::kTerminate), ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(PlaceOf(4), "0 on c of c:2 in epoch 3");
}

TEST_F(GrowingJobTest, WithoutAnyHostTheRanksWait) {
  StartAll();
  job_.OnHosts({}, now_);
  for (int p = 0; p < 4; ++p) Say(p, MessageType::kLeave);
  for (int p = 0; p < 4; ++p) Say(p, MessageType::kAttach);
  EXPECT_THAT(Told(MessageType::kTerminate), IsEmpty());
  Pass(seconds(60));
  EXPECT_TRUE(job_.ending());
  EXPECT_EQ(job_.exit_code(), 1);
  EXPECT_THAT(job_.verdict(), HasSubstr("hosts have gone"));
}

TEST_F(GrowingJobTest, WhoHasNotGotTheStateYetDoesNotBecomeTheFirst) {
  StartAll();
  job_.OnHosts(more_, now_);
  Say(4, MessageType::kHello);
  Say(4, MessageType::kAttach);
  for (const int p : {0, 1, 2, 3}) Say(p, MessageType::kLeave);
  Meet({0, 1, 2, 3});
  for (const int p : {0, 1, 2}) Say(p, MessageType::kExited, SIGKILL);
  Say(4, MessageType::kAttach);
  EXPECT_FALSE(job_.ending());
  Say(3, MessageType::kAttach);
  EXPECT_EQ(PlaceOf(3), "0 on b of b:1,c:1 in epoch 3");
  EXPECT_EQ(PlaceOf(4), "1 on c of b:1,c:1 in epoch 3");
}

TEST_F(GrowingJobTest, OnlyThoseThatKeepAMeetingUpAreEnded) {
  StartAll();
  Say(3, MessageType::kExited, SIGKILL);
  for (const int p : {0, 1, 2}) Say(p, MessageType::kAttach);
  for (const int p : {0, 1}) Say(p, MessageType::kJoined);
  job_.OnHosts(more_, now_);
  Say(4, MessageType::kHello);
  Say(4, MessageType::kAttach);
  sent_.clear();
  Pass(seconds(30));
  EXPECT_THAT(Told(MessageType::kKill), ElementsAre(2));
}

TEST_F(GrowingJobTest, ADismissedProcessThatStaysIsKilled) {
  StartAll();
  job_.OnHosts(more_, now_);
  Say(4, MessageType::kHello);
  job_.OnHosts(first_, now_);
  EXPECT_THAT(Told(MessageType::kTerminate), ElementsAre(4));
  Pass(seconds(3));
  EXPECT_THAT(Told(MessageType::kKill), ElementsAre(4));
}

TEST_F(GrowingJobTest, AProcessThatStartsAfterItWasGivenUpIsNotStarted) {
  StartAll();
  job_.OnHosts(more_, now_);
  Pass(seconds(30));
  sent_.clear();
  Say(4, MessageType::kHello);
  EXPECT_THAT(Told(MessageType::kWelcome), IsEmpty());
  EXPECT_THAT(Told(MessageType::kFinish), ElementsAre(4));
}

TEST_F(GrowingJobTest, NewRanksThatDoNotReachTheOthersAreGoneOnWithout) {
  StartAll();
  job_.OnHosts(more_, now_);
  Say(4, MessageType::kHello);
  Say(4, MessageType::kAttach);
  for (const int p : {0, 1, 2, 3}) Say(p, MessageType::kLeave);
  Meet({0, 1, 2, 3});
  for (int epoch = 0; epoch < 3; ++epoch) {
    EXPECT_THAT(Told(MessageType::kKill), IsEmpty());
    Say(4, MessageType::kAbort, 0, "sending to rank 0 failed");
    for (int p = 0; p < 5; ++p) Say(p, MessageType::kAttach);
    Pass(seconds(1));
  }
  EXPECT_THAT(Told(MessageType::kKill), ElementsAre(4));
  Say(4, MessageType::kStopped, SIGKILL);
  EXPECT_THAT(said_, testing::Contains(HasSubstr(
                         "rank 4 on c: has not come to work with the others: sending to rank 0 "
                         "failed; 4 ranks are left")));
  EXPECT_EQ(PlaceOf(3), "3 on b of a:2,b:2 in epoch 5");
  EXPECT_FALSE(job_.ending());
}

TEST_F(GrowingJobTest, OtherHostsAreAReasonToTryAgain) {
  StartAll();
  for (int epoch = 0; epoch < 9; ++epoch) {
    job_.OnHosts(epoch % 2 == 0 ? more_ : first_, now_);
    Say(1, MessageType::kAbort, 0, "sending to rank 0 failed");
    Meet({0, 1, 2, 3});
    Pass(seconds(1));
    EXPECT_FALSE(job_.ending()) << epoch;
  }
}

TEST_F(GrowingJobTest, WhoComesAndWhoIsLetGoIsTold) {
  StartAll();
  job_.OnHosts(more_, now_);
  Say(4, MessageType::kHello);
  Say(4, MessageType::kAttach);
  for (const int p : {0, 1, 2, 3}) Say(p, MessageType::kLeave);
  Meet({0, 1, 2, 3});
  EXPECT_THAT(said_, ElementsAre("rank 4 on c has come", HasSubstr("5 ranks go on")));
  said_.clear();
  for (int i = 0; i < 2; ++i) job_.OnHosts({{"a", 1}, {"c", 1}}, now_);
  EXPECT_THAT(said_, ElementsAre("host a has 1 slot left; to be let go: rank 1 on a",
                                 "host b is no longer one that the script prints; to be let go: "
                                 "rank 2 on b, rank 3 on b"));
}

TEST_F(GrowingJobTest, WhatBecomesOfTheSlotOfALostRankIsTold) {
  StartAll();
  Say(3, MessageType::kExited, SIGKILL);
  EXPECT_THAT(said_, ElementsAre("rank 3 on b: signal 9 (Killed); 3 ranks are left; its slot is "
                                 "not used again"));
}

TEST_F(GrowingJobTest, AWaitForHostsIsToldOnce) {
  StartAll();
  job_.OnHosts({{"a", 1}}, now_);
  for (int p = 0; p < 4; ++p) Say(p, MessageType::kLeave);
  for (int p = 0; p < 4; ++p) Say(p, MessageType::kAttach);
  EXPECT_EQ(said_.back(), "1 of 2 ranks: waiting up to 60 s (--elastic-timeout) for hosts");
  said_.clear();
  Pass(seconds(59));
  EXPECT_THAT(said_, IsEmpty());
}

TEST_F(GrowingJobTest, ANewProcessThatEndsBeforeItJoinsIsToldAndNotStartedAgain) {
  StartAll();
  job_.OnHosts(more_, now_);
  Say(4, MessageType::kHello);
  Say(4, MessageType::kExited, 0);
  Pass(seconds(1));
  Pass(seconds(1));
  EXPECT_THAT(said_, ElementsAre(HasSubstr("process 4 of the output on c: exited before it had "
                                           "joined")));
  EXPECT_THAT(started_, testing::SizeIs(1));
}

TEST_F(ElasticJobTest, SurvivorsOfAFinishedJobFinishToo) {
  StartAll();
  Say(3, MessageType::kExited, SIGKILL);
  for (const int p : {1, 2}) Say(p, MessageType::kAttach);
  Say(0, MessageType::kLeave);
  Say(0, MessageType::kExited, 0);
  Pass(milliseconds(1));
  EXPECT_EQ(PlaceOf(1), "0 on a of a:1,b:1 in epoch 2");
  for (const int p : {1, 2}) {
    Say(p, MessageType::kLeave);
    Say(p, MessageType::kExited, 0);
  }
  Pass(milliseconds(1));
  EXPECT_EQ(job_.exit_code(), 0);
}

TEST_F(ElasticJobTest, ALateReturnInTheFirstEpochHasTheElasticTimeout) {
  StartAll();
  for (int p = 0; p < 4; ++p) Say(p, MessageType::kLeave);
  for (const int p : {0, 1, 2}) Say(p, MessageType::kAttach);
  Pass(seconds(59));
  EXPECT_FALSE(job_.ending());
  Pass(seconds(1));
  EXPECT_THAT(Told(MessageType::kKill), ElementsAre(3));
}

class RestingSlotsTest : public ElasticJobTest {
 protected:
  RestingSlotsTest()
      : ElasticJobTest({.min_ranks = 1,
                        .max_ranks = 4,
                        .cooldown = HostPool::Cooldown{.least = seconds(10), .most = seconds(25)},
                        .timeout = seconds(60)}) {}
};

TEST_F(RestingSlotsTest, ASlotIsUsedAgainAfterItsRest) {
  StartAll();
  Say(3, MessageType::kExited, SIGKILL);
  Meet({0, 1, 2});
  Pass(seconds(9));
  EXPECT_THAT(started_, IsEmpty());
  EXPECT_EQ(job_.deadline(), now_ + seconds(1));
  Pass(seconds(1));
  EXPECT_THAT(started_, ElementsAre(std::pair("b", 1)));
}

}  // namespace
}  // namespace weir::launcher
