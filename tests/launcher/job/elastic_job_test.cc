#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>

#include "tests/launcher/job/elastic_job_fixture.h"

namespace weir::launcher {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

TEST_F(ElasticJobTest, RanksGetTheirPlacesOnceAllHaveCome) {
  for (int p = 0; p < 4; ++p) Say(p, MessageType::kHello);
  for (int p = 3; p > 0; --p) Say(p, MessageType::kAttach);
  EXPECT_THAT(Told(MessageType::kPlace), IsEmpty());
  Say(0, MessageType::kAttach);
  EXPECT_EQ(PlaceOf(0), "0 on a of a:2,b:2 in epoch 1");
  EXPECT_EQ(PlaceOf(3), "3 on b of a:2,b:2 in epoch 1");
}

TEST_F(ElasticJobTest, SurvivorsAreToldAndDealtAnewInTheirOldOrder) {
  StartAll();
  sent_.clear();
  Say(0, MessageType::kExited, SIGKILL);
  EXPECT_THAT(Told(MessageType::kPeerLost), ElementsAre(1, 2, 3));
  EXPECT_THAT(Told(MessageType::kFinish), ElementsAre(0));
  EXPECT_EQ(sent_.front().second.rank, 0);
  EXPECT_EQ(sent_.front().second.text, "signal 9 (Killed)");
  EXPECT_FALSE(job_.ending());
  Say(3, MessageType::kAttach);
  Say(2, MessageType::kAttach);
  EXPECT_EQ(PlaceOf(2), "none");
  Say(1, MessageType::kAttach);
  EXPECT_EQ(PlaceOf(1), "0 on a of a:1,b:2 in epoch 2");
  EXPECT_EQ(PlaceOf(2), "1 on b of a:1,b:2 in epoch 2");
  EXPECT_EQ(PlaceOf(3), "2 on b of a:1,b:2 in epoch 2");
  EXPECT_THAT(said_, ElementsAre(HasSubstr("rank 0 on a: signal 9 (Killed); 3 ranks are left"),
                                 HasSubstr("3 ranks go on")));
}

TEST_F(ElasticJobTest, RanksMeetByTheirNumbersInTheEpoch) {
  StartAll();
  Say(1, MessageType::kExited, SIGKILL);
  for (const int p : {0, 2, 3}) Say(p, MessageType::kAttach);
  sent_.clear();
  for (const int p : {0, 2, 3}) Say(p, MessageType::kAddress, 0, "address");
  EXPECT_THAT(Told(MessageType::kAddresses), ElementsAre(0, 2, 3));
  EXPECT_EQ(sent_.back().second.rank, 2);
  EXPECT_EQ(sent_.back().second.code, 3);
}

TEST_F(ElasticJobTest, AnAddressOfAnEpochThatIsOverMeetsNobody) {
  StartAll();
  Say(1, MessageType::kExited, SIGKILL);
  for (const int p : {0, 2, 3}) Say(p, MessageType::kAttach);
  Say(0, MessageType::kAddress, 0, "address");
  Say(3, MessageType::kExited, SIGKILL);  // Before it has come to the meeting.
  EXPECT_THAT(Told(MessageType::kPeerLost), UnorderedElementsAre(0, 2, 3, 0, 2));
  Say(2, MessageType::kAddress, 0, "address");
  for (const int p : {0, 2}) Say(p, MessageType::kAttach);
  sent_.clear();
  Say(0, MessageType::kAddress, 0, "new");
  EXPECT_THAT(Told(MessageType::kAddresses), IsEmpty());
  Say(2, MessageType::kAddress, 0, "new");
  EXPECT_THAT(Told(MessageType::kAddresses), ElementsAre(0, 2));
}

TEST_F(ElasticJobTest, WhoDiesWhileTheOthersComeIsNotWaitedFor) {
  StartAll();
  Say(1, MessageType::kExited, SIGKILL);
  for (const int p : {0, 2}) Say(p, MessageType::kAttach);
  sent_.clear();
  job_.OnSupervisorLost(3, "its host is silent", now_);
  EXPECT_THAT(Told(MessageType::kPlace), ElementsAre(0, 2));
}

TEST_F(ElasticJobTest, TooFewRanksEndTheJobWithTheFirstLossOfTheEpoch) {
  StartAll();
  Say(1, MessageType::kExited, SIGKILL);
  Meet({0, 2, 3});
  Say(0, MessageType::kExited, 3 << 8);
  EXPECT_FALSE(job_.ending());
  Say(2, MessageType::kExited, SIGSEGV);
  EXPECT_TRUE(job_.ending());
  EXPECT_EQ(job_.exit_code(), 3);
  EXPECT_EQ(job_.verdict(), "rank 0 on a: exit code 3; 1 rank is left, and --min-np asks for 2");
  sent_.clear();
  Pass(seconds(3));
  EXPECT_THAT(Told(MessageType::kTerminate), ElementsAre(3));
}

TEST_F(ElasticJobTest, AJobThatSomeRankFinishesIsNoFailure) {
  StartAll();
  Say(1, MessageType::kExited, SIGKILL);
  Meet({0, 2, 3});
  for (const int p : {0, 2, 3}) Say(p, MessageType::kLeave);
  for (const int p : {0, 2, 3}) Say(p, MessageType::kExited, 0);
  Pass(seconds(2));
  EXPECT_TRUE(job_.over());
  EXPECT_EQ(job_.exit_code(), 0);
  EXPECT_EQ(job_.verdict(), "");
}

TEST_F(ElasticJobTest, ARankThatExitsAmidTheOthersIsLost) {
  StartAll();
  sent_.clear();
  Say(2, MessageType::kExited, 0);
  EXPECT_THAT(Told(MessageType::kPeerLost), IsEmpty());
  Pass(seconds(2));
  EXPECT_THAT(Told(MessageType::kPeerLost), ElementsAre(0, 1, 3));
}

TEST_F(ElasticJobTest, AnAbortBreaksTheEpochForAll) {
  StartAll();
  sent_.clear();
  Say(3, MessageType::kAbort, 0, "a sum is wrong");
  EXPECT_THAT(Told(MessageType::kAbort), ElementsAre(0, 1, 2));
  Meet({0, 1, 2, 3});
  EXPECT_EQ(PlaceOf(3), "3 on b of a:2,b:2 in epoch 2");
}

TEST_F(ElasticJobTest, WhoDoesNotComeBackInTimeIsEnded) {
  StartAll();
  Say(1, MessageType::kExited, SIGKILL);
  for (const int p : {0, 2}) Say(p, MessageType::kAttach);
  sent_.clear();
  Pass(seconds(59));
  EXPECT_THAT(Told(MessageType::kKill), IsEmpty());
  Pass(seconds(1));
  EXPECT_THAT(Told(MessageType::kKill), ElementsAre(3));
  Say(3, MessageType::kStopped, SIGKILL);
  EXPECT_THAT(Told(MessageType::kPlace), ElementsAre(0, 2));
  EXPECT_THAT(said_.at(1), HasSubstr("rank 3 on b: did not come back"));
}

TEST_F(ElasticJobTest, WhoIsSilentForTooLongIsEndedAndGoneOnWithout) {
  StartAll();
  sent_.clear();
  for (const int missed : {59, 60, 61}) Say(2, MessageType::kHeartbeat, missed);
  EXPECT_THAT(Told(MessageType::kKill), ElementsAre(2));
  Say(2, MessageType::kStopped, SIGKILL);
  EXPECT_THAT(Told(MessageType::kPeerLost), ElementsAre(0, 1, 3));
  EXPECT_THAT(said_, ElementsAre(HasSubstr("rank 2 on b: silent for 60 s; 3 ranks are left")));
  Meet({0, 1, 3});
  EXPECT_EQ(PlaceOf(3), "2 on b of a:2,b:1 in epoch 2");
}

TEST_F(ElasticJobTest, AHostThatDoesNotReachAnotherIsGoneOnWithout) {
  StartAll();
  Say(0, MessageType::kUnheard, 1, "2");
  Say(1, MessageType::kUnheard, 1, "");
  Say(2, MessageType::kUnheard, 1, "0,77,x");
  sent_.clear();
  Say(2, MessageType::kAbort, 0, "an exchange stands still");
  EXPECT_THAT(Told(MessageType::kKill), ElementsAre(2, 3));
  for (const int p : {3, 0, 1}) Say(p, MessageType::kAttach);  // The kill has not come yet.
  EXPECT_THAT(Told(MessageType::kPlace), IsEmpty());
  for (const int p : {2, 3}) Say(p, MessageType::kStopped, SIGKILL);
  EXPECT_THAT(Told(MessageType::kPlace), ElementsAre(0, 1));
  EXPECT_EQ(said_.at(0),
            "rank 2 on b: its host does not reach rank 0 on a any more; 3 ranks are left");
}

TEST_F(ElasticJobTest, WhatMovesAgainPartsNobody) {
  StartAll();
  Say(0, MessageType::kUnheard, 1, "2");
  Say(2, MessageType::kUnheard, 1, "0");
  Say(2, MessageType::kUnheard, 0);
  Say(2, MessageType::kAbort, 0, "a sum is wrong");
  EXPECT_THAT(Told(MessageType::kKill), IsEmpty());
}

TEST_F(ElasticJobTest, WhatWasUnheardInAnEpochThatIsOverPartsNobody) {
  StartAll();
  Say(0, MessageType::kUnheard, 1, "2");
  Say(1, MessageType::kExited, SIGKILL);
  Say(2, MessageType::kUnheard, 1, "0");
  Meet({0, 2, 3});
  Say(2, MessageType::kAbort, 0, "a sum is wrong");
  EXPECT_THAT(Told(MessageType::kKill), IsEmpty());
}

TEST_F(ElasticJobTest, HostsThatLoseEachOtherTwiceInARowAreParted) {
  StartAll();
  for (int epoch = 0; epoch < 2; ++epoch) {
    EXPECT_THAT(Told(MessageType::kKill), IsEmpty());
    Say(3, MessageType::kUnheard, 2, "1");
    Say(3, MessageType::kAbort, 0, "sending to rank 1 failed");
    if (epoch == 0) Meet({0, 1, 2, 3});
  }
  EXPECT_THAT(Told(MessageType::kKill), ElementsAre(2, 3));
}

TEST_F(ElasticJobTest, WhoDoesNotJoinAtTheStartIsNamed) {
  for (int p = 0; p < 4; ++p) Say(p, MessageType::kHello);
  Say(0, MessageType::kAttach);
  Pass(seconds(30));
  EXPECT_TRUE(job_.ending());
  EXPECT_THAT(job_.verdict(), AllOf(HasSubstr("rank 1 on a, rank 2 on b, rank 3 on b did not join"),
                                    HasSubstr("start timeout of 30 s")));
}

TEST_F(ElasticJobTest, AHostThatDoesNotStartIsGoneOnWithout) {
  for (const int p : {0, 1}) Say(p, MessageType::kHello);
  for (const int p : {0, 1}) Say(p, MessageType::kAttach);
  job_.OnStartTrouble({.host = "b", .why = "ssh ended with exit code 255: no route"});
  job_.OnStarterEnded("ssh", {2, 3}, "look", 255 << 8, now_);
  EXPECT_THAT(Told(MessageType::kPlace), ElementsAre(0, 1));
  EXPECT_THAT(said_.front(),
              HasSubstr("rank 2 on b: did not start: ssh ended with exit code 255: no route"));
}

TEST_F(ElasticJobTest, AnInterruptEndsAllThatAreLeft) {
  StartAll();
  Say(1, MessageType::kExited, SIGKILL);
  sent_.clear();
  job_.OnInterrupt(SIGINT, now_);
  EXPECT_THAT(Told(MessageType::kTerminate), ElementsAre(0, 2, 3));
  EXPECT_EQ(job_.exit_code(), 130);
  Say(0, MessageType::kAttach);
  EXPECT_EQ(PlaceOf(0), "none");
}

class LimitedElasticJobTest : public ElasticJobTest {
 protected:
  LimitedElasticJobTest()
      : ElasticJobTest({.min_ranks = 1, .max_ranks = 4, .reset_limit = 1, .timeout = seconds(60)}) {
  }
};

TEST_F(LimitedElasticJobTest, ResetsAreCounted) {
  StartAll();
  Say(3, MessageType::kExited, SIGKILL);
  Meet({0, 1, 2});
  EXPECT_FALSE(job_.ending());
  Say(2, MessageType::kExited, 7 << 8);
  Meet({0, 1});
  EXPECT_TRUE(job_.ending());
  EXPECT_EQ(job_.exit_code(), 7);
  EXPECT_THAT(job_.verdict(), HasSubstr("resets during the elastic job exceeded the limit: 1"));
}

}  // namespace
}  // namespace weir::launcher
