#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "launcher/job/fixed_job.h"
#include "tests/launcher/job/job_fixture.h"

namespace weir::launcher {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;
using testing::IsEmpty;

TEST_F(JobTest, IsOverWithoutAFailureOnceAllHaveLeft) {
  StartAll();
  for (int rank = 0; rank < 3; ++rank) {
    EXPECT_FALSE(job_.over());
    Say(rank, MessageType::kLeave);
    Say(rank, MessageType::kExited, Exit(0));
  }
  EXPECT_TRUE(job_.over());
  EXPECT_EQ(job_.exit_code(), 0);
  EXPECT_EQ(job_.verdict(), "");
  EXPECT_FALSE(job_.deadline());
  EXPECT_THAT(sent_, IsEmpty());
}

TEST_F(JobTest, ADeathIsToldToTheOthersWithRankHostAndSignal) {
  StartAll();
  Say(2, MessageType::kExited, SIGKILL);
  EXPECT_EQ(Told(MessageType::kPeerLost), (Ranks{0, 1}));
  EXPECT_EQ(Last().rank, 2);
  EXPECT_EQ(Last().host, "b");
  EXPECT_EQ(Last().text, "signal 9 (Killed)");
  EXPECT_EQ(job_.exit_code(), 137);
  EXPECT_EQ(job_.verdict(), "rank 2 on b: signal 9 (Killed)");
}

TEST_F(JobTest, ARankThatIsSilentForTooLongIsLost) {
  StartAll();
  Say(1, MessageType::kHeartbeat, 59, "stopped by a signal");
  EXPECT_THAT(Told(MessageType::kPeerLost), IsEmpty());
  Say(1, MessageType::kHeartbeat, 60, "stopped by a signal");
  EXPECT_EQ(Told(MessageType::kPeerLost), (Ranks{0, 2}));
  EXPECT_EQ(Last().text, "silent for 60 s: it is stopped by a signal");
  EXPECT_EQ(job_.verdict(), "rank 1 on a: silent for 60 s: it is stopped by a signal");
  Pass(seconds(3));
  EXPECT_EQ(Told(MessageType::kTerminate), (Ranks{0, 1, 2}));
}

TEST_F(JobTest, WhoIsSilentAloneMayBe) {
  FixedJob alone(RankPlaces({"a"}), JobPolicy{}, now_, [](int, const Message&) {});
  alone.OnMessage(0, {.type = MessageType::kHello}, now_);
  alone.OnMessage(0, {.type = MessageType::kHeartbeat, .code = 600}, now_);
  EXPECT_FALSE(alone.ending());
}

TEST_F(JobTest, SilenceMayBeAllowed) {
  FixedJob patient(RankPlaces({"a", "b"}), {.heartbeat_timeout = seconds(0)}, now_,
                   [](int, const Message&) {});
  for (int rank = 0; rank < 2; ++rank) patient.OnMessage(rank, {.type = MessageType::kHello}, now_);
  patient.OnMessage(1, {.type = MessageType::kHeartbeat, .code = 600}, now_);
  EXPECT_FALSE(patient.ending());
}

TEST_F(JobTest, SurvivorsGetGraceThenTermThenKill) {
  StartAll();
  Say(0, MessageType::kExited, Exit(3));
  Pass(milliseconds(2999));
  EXPECT_THAT(Told(MessageType::kTerminate), IsEmpty());
  Pass(milliseconds(1));
  EXPECT_EQ(Told(MessageType::kTerminate), (Ranks{1, 2}));
  Say(1, MessageType::kStopped, SIGTERM);
  Pass(milliseconds(1000));
  EXPECT_EQ(Told(MessageType::kKill), Ranks{2});
  Say(2, MessageType::kStopped, SIGKILL);
  EXPECT_TRUE(job_.over());
  EXPECT_EQ(job_.exit_code(), 3);
}

TEST_F(JobTest, WhoCannotBeKilledIsGivenUp) {
  StartAll();
  Say(0, MessageType::kExited, Exit(3));
  Pass(seconds(3));
  Pass(seconds(1));
  Pass(seconds(1));
  EXPECT_TRUE(job_.over());
}

TEST_F(JobTest, WhatSurvivorsDoIsNotTheCause) {
  StartAll();
  Say(1, MessageType::kExited, SIGSEGV);
  sent_.clear();
  Say(0, MessageType::kExited, Exit(1));
  Say(2, MessageType::kExited, SIGABRT);
  EXPECT_THAT(sent_, IsEmpty());
  EXPECT_TRUE(job_.over());
  EXPECT_EQ(job_.verdict(), "rank 1 on a: signal 11 (Segmentation fault)");
  EXPECT_EQ(job_.exit_code(), 139);
}

TEST_F(JobTest, ExitingWithoutLeavingIsALossOnceItHasSettled) {
  StartAll();
  Say(1, MessageType::kExited, Exit(0));
  EXPECT_EQ(job_.deadline(), now_ + seconds(1));
  Pass(milliseconds(999));
  EXPECT_THAT(sent_, IsEmpty());
  Pass(milliseconds(1));
  EXPECT_EQ(Told(MessageType::kPeerLost), (Ranks{0, 2}));
  EXPECT_EQ(job_.verdict(), "rank 1 on a: exited without leaving (exit code 0)");
  EXPECT_EQ(job_.exit_code(), 1);
}

TEST_F(JobTest, ExitingWithoutLeavingIsNoLossWhenNobodyGoesOn) {
  StartAll();
  Say(1, MessageType::kExited, Exit(0));
  Say(0, MessageType::kExited, Exit(0));
  Say(2, MessageType::kLeave);
  Pass(seconds(2));
  EXPECT_THAT(sent_, IsEmpty());
  EXPECT_EQ(job_.exit_code(), 0);
}

TEST_F(JobTest, ProgramsWithoutAnEngineMayEndWhenTheyLike) {
  for (int rank = 0; rank < 3; ++rank) Say(rank, MessageType::kHello);
  Say(0, MessageType::kExited, Exit(0));
  Pass(seconds(60));
  EXPECT_FALSE(job_.ending());
}

TEST_F(JobTest, LeavingDoesNotExcuseAFailure) {
  StartAll();
  Say(0, MessageType::kLeave);
  Say(0, MessageType::kExited, Exit(1));
  EXPECT_EQ(job_.exit_code(), 1);
}

TEST_F(JobTest, AnEngineThatComesBackAfterLeavingIsMissedAgain) {
  StartAll();
  Say(0, MessageType::kLeave);
  Join(0);
  Say(0, MessageType::kExited, Exit(0));
  Pass(seconds(1));
  EXPECT_EQ(job_.exit_code(), 1);
}

TEST_F(JobTest, ALostSupervisorIsALostRank) {
  StartAll();
  job_.OnSupervisorLost(2, "its host has been silent for 10 s", now_);
  EXPECT_EQ(Told(MessageType::kPeerLost), (Ranks{0, 1}));
  EXPECT_EQ(job_.verdict(), "rank 2 on b: its host has been silent for 10 s");
  EXPECT_EQ(job_.exit_code(), 1);
}

TEST_F(JobTest, SupervisorsThatGoAfterTheirRankAreNotMissed) {
  StartAll();
  Say(0, MessageType::kLeave);
  Say(0, MessageType::kExited, Exit(0));
  job_.OnSupervisorLost(0, "gone", now_);
  EXPECT_FALSE(job_.ending());
}

TEST_F(JobTest, AnAbortReachesTheOthersWithRankAndReason) {
  StartAll();
  Say(1, MessageType::kAbort, 0, "corrupt frame");
  EXPECT_EQ(Told(MessageType::kAbort), (Ranks{0, 2}));
  EXPECT_EQ(Last().rank, 1);
  EXPECT_EQ(Last().text, "corrupt frame");
  Say(0, MessageType::kAbort, 0, "because of rank 1");
  EXPECT_EQ(Told(MessageType::kAbort).size(), 2u);
  Say(0, MessageType::kExited, Exit(7));
  Say(1, MessageType::kExited, Exit(8));
  EXPECT_EQ(job_.verdict(), "rank 1 on a ended the job: corrupt frame");
  EXPECT_EQ(job_.exit_code(), 8);
}

TEST_F(JobTest, AnAbortedJobFailsEvenIfAllExitWithZero) {
  StartAll();
  Say(1, MessageType::kAbort, 0, "enough");
  for (int rank = 0; rank < 3; ++rank) Say(rank, MessageType::kExited, Exit(0));
  EXPECT_EQ(job_.exit_code(), 1);
}

TEST_F(JobTest, StatusGoesToAllAndComesToRankZero) {
  StartAll();
  Say(2, MessageType::kStatusRequest);
  EXPECT_EQ(Told(MessageType::kStatusRequest), (Ranks{0, 1, 2}));
  Say(1, MessageType::kStatus, 0, "idle");
  EXPECT_EQ(Told(MessageType::kStatus), Ranks{0});
  EXPECT_EQ(Last().rank, 1);
  EXPECT_EQ(Last().text, "idle");
}

TEST_F(JobTest, FlightRecordingsAreAskedOfRanksWithAnEngineAndCounted) {
  Say(0, MessageType::kHello);
  EXPECT_EQ(job_.RecordFlights(), "") << "nobody has joined";
  EXPECT_THAT(Told(MessageType::kRecordFlight), IsEmpty());
  StartAll();
  EXPECT_EQ(job_.RecordFlights(), "ranks 0-1 on a, rank 2 on b");
  EXPECT_EQ(Told(MessageType::kRecordFlight), (Ranks{0, 1, 2}));
  EXPECT_EQ(Last().code, 2);
  Say(1, MessageType::kLeave);
  Say(2, MessageType::kExited, Exit(0));
  EXPECT_EQ(job_.RecordFlights(), "rank 0 on a");
  EXPECT_EQ(Last().code, 3);
  EXPECT_EQ(job_.exit_code(), 0);
}

TEST_F(JobTest, InterruptTerminatesThenKills) {
  StartAll();
  job_.OnInterrupt(SIGINT, now_);
  EXPECT_EQ(Told(MessageType::kTerminate), (Ranks{0, 1, 2}));
  Pass(seconds(3));
  EXPECT_EQ(Told(MessageType::kKill), (Ranks{0, 1, 2}));
  EXPECT_EQ(job_.exit_code(), 130);
}

TEST_F(JobTest, ASecondInterruptKillsAtOnce) {
  StartAll();
  job_.OnInterrupt(SIGTERM, now_);
  job_.OnInterrupt(SIGTERM, now_);
  EXPECT_EQ(Told(MessageType::kKill), (Ranks{0, 1, 2}));
  EXPECT_EQ(job_.exit_code(), 143);
}

TEST_F(JobTest, AKilledJobIsNotTerminatedAgain) {
  StartAll();
  job_.OnInterrupt(SIGINT, now_);
  job_.OnInterrupt(SIGINT, now_);
  const auto deadline = job_.deadline();
  sent_.clear();
  now_ += milliseconds(500);
  job_.OnInterrupt(SIGINT, now_);
  EndMpiexec(job_, SIGKILL, now_);
  EXPECT_THAT(sent_, IsEmpty());
  EXPECT_EQ(job_.deadline(), deadline);
  Pass(milliseconds(500));
  EXPECT_TRUE(job_.over());
}

TEST_F(JobTest, AFailureOfWeirrunItselfEndsTheJob) {
  Say(0, MessageType::kHello);
  job_.OnLauncherFailed("too many open files", now_);
  EXPECT_EQ(Told(MessageType::kTerminate), Ranks{0});
  Say(0, MessageType::kStopped, SIGTERM);
  EXPECT_TRUE(job_.over());
  EXPECT_EQ(job_.verdict(), "too many open files");
  EXPECT_EQ(job_.exit_code(), 1);
}

TEST_F(JobTest, MpiAbortHasItsOwnCodeAndTheRankThatReportsIt) {
  StartAll();
  EndMpiexec(job_, Exit(5), now_);
  EXPECT_EQ(job_.exit_code(), 5);
  EXPECT_THAT(job_.verdict(), HasSubstr("MPI_Abort"));
  Say(0, MessageType::kStopped, SIGTERM);
  Say(1, MessageType::kExited, Exit(6));
  EXPECT_EQ(job_.exit_code(), 6);
  EXPECT_EQ(job_.verdict(), "rank 1 on a: exit code 6");
}

TEST_F(JobTest, WhereTheProcessOfOneHostEndsTheOthersAreToldOfItsRanks) {
  StartAll();
  job_.OnStarterEnded("ssh", {2}, "", SIGKILL, now_);
  EXPECT_EQ(Told(MessageType::kPeerLost), (Ranks{0, 1}));
  EXPECT_EQ(Last().rank, 2);
  EXPECT_THAT(Told(MessageType::kTerminate), IsEmpty());
  EXPECT_EQ(job_.verdict(), "rank 2 on b: ssh ended with signal 9 (Killed)");
  Pass(seconds(3));
  EXPECT_EQ(Told(MessageType::kTerminate), (Ranks{0, 1, 2}));
}

TEST_F(JobTest, MpiexecMayEndAfterTheRanks) {
  StartAll();
  for (int rank = 0; rank < 3; ++rank) Say(rank, MessageType::kLeave);
  for (int rank = 0; rank < 3; ++rank) Say(rank, MessageType::kExited, Exit(0));
  EndMpiexec(job_, SIGKILL, now_);
  EXPECT_EQ(job_.exit_code(), 0);
}

}  // namespace
}  // namespace weir::launcher
