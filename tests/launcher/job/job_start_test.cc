#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "common/supervision/addresses.h"
#include "launcher/job/fixed_job.h"
#include "tests/launcher/job/job_fixture.h"

namespace weir::launcher {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;
using testing::IsEmpty;

TEST_F(JobTest, AKnownReasonIsGivenWithTheHostThatDidNotStart) {
  Say(0, MessageType::kHello);
  job_.OnStartTrouble({.host = "b", .why = "ssh ended with exit code 255: no route"});
  job_.OnStartTrouble({.rank = 0, .why = "it has started"});
  EndMpiexec(job_, Exit(255), now_);
  EXPECT_EQ(job_.verdict(), "rank 2 on b did not start: ssh ended with exit code 255: no route");
}

TEST_F(JobTest, WhoDiesOfAStartThatFailedIsNotItsCause) {
  // MPI's start may crash when mpiexec ends; what each of them says comes in any order.
  for (const bool trouble_first : {false, true}) {
    FixedJob job(RankPlaces({"a", "b"}), JobPolicy{}, now_, [](int, const Message&) {});
    job.OnMessage(0, {.type = MessageType::kHello}, now_);
    job.OnMessage(0, {.type = MessageType::kAttach}, now_);
    const StartTrouble trouble{.host = "b", .why = "ssh ended with exit code 255: no route"};
    if (trouble_first) job.OnStartTrouble(trouble);
    job.OnMessage(0, {.type = MessageType::kExited, .code = SIGSEGV}, now_);
    if (!trouble_first) job.OnStartTrouble(trouble);
    EndMpiexec(job, Exit(255), now_, {0, 1});
    EXPECT_EQ(job.verdict(), "rank 1 on b did not start: ssh ended with exit code 255: no route");
    EXPECT_EQ(job.exit_code(), 1);
  }
}

TEST_F(JobTest, WhoDiesByItselfWhileOthersStartIsTheCause) {
  Say(0, MessageType::kHello);
  Say(0, MessageType::kExited, SIGSEGV);
  job_.OnStartTrouble({.host = "b", .why = "ssh ended with exit code 255: no route"});
  EXPECT_EQ(job_.verdict(), "rank 0 on a: signal 11 (Segmentation fault)");
}

TEST_F(JobTest, AReasonIsKeptUntilTheStartTimesOut) {
  job_.OnStartTrouble({.host = "a", .why = "cannot reach weirrun"});
  Say(2, MessageType::kHello);
  Pass(seconds(30));
  EXPECT_EQ(job_.verdict(),
            "ranks 0-1 on a did not start within the start timeout of 30 s; ranks 0-1 on a did not "
            "start: cannot reach weirrun");
}

TEST_F(JobTest, SupervisorsAreWelcomed) {
  Say(1, MessageType::kHello);
  EXPECT_EQ(Told(MessageType::kWelcome), Ranks{1});
}

TEST_F(JobTest, WhoEndsWithoutJoiningIsMissedByThoseWhoWait) {
  for (int rank = 0; rank < 3; ++rank) Say(rank, MessageType::kHello);
  Say(2, MessageType::kAttach);
  Say(1, MessageType::kExited, Exit(0));
  Pass(milliseconds(999));
  EXPECT_FALSE(job_.ending());
  Pass(milliseconds(1));
  EXPECT_EQ(job_.verdict(),
            "rank 1 on a: exited (exit code 0) and so cannot join the job, where rank 2 on b waits "
            "for it");
  EXPECT_EQ(job_.exit_code(), 1);
}

TEST_F(JobTest, WhoHasEndedIsMissedBySomebodyWhoComesLater) {
  for (int rank = 0; rank < 3; ++rank) Say(rank, MessageType::kHello);
  Say(1, MessageType::kExited, Exit(0));
  Pass(seconds(20));
  EXPECT_FALSE(job_.ending());
  Say(0, MessageType::kAttach);
  EXPECT_EQ(job_.deadline(), now_ + seconds(1));
  Pass(seconds(1));
  EXPECT_THAT(job_.verdict(), HasSubstr("rank 1 on a: exited (exit code 0) and so cannot join"));
}

TEST_F(JobTest, WhoLeftAndEndedIsMissedByThoseWhoJoinAgain) {
  StartAll();
  for (int rank = 0; rank < 3; ++rank) Say(rank, MessageType::kLeave);
  Say(2, MessageType::kExited, Exit(0));
  Pass(seconds(2));
  Say(0, MessageType::kAttach);
  Pass(seconds(1));
  EXPECT_THAT(job_.verdict(), HasSubstr("rank 2 on b: exited (exit code 0) and so cannot join"));
}

TEST_F(JobTest, NewsOfJoiningMayComeAfterNewsOfAnEnd) {
  for (int rank = 0; rank < 3; ++rank) Say(rank, MessageType::kHello);
  Join(1);
  Say(1, MessageType::kLeave);
  Say(1, MessageType::kExited, Exit(0));
  for (const int rank : {0, 2}) {
    Say(rank, MessageType::kAttach);
    Pass(milliseconds(900));
    Say(rank, MessageType::kJoined);
  }
  Pass(seconds(60));
  EXPECT_FALSE(job_.ending());
}

TEST_F(JobTest, WhoDoesNotJoinInTimeIsNamed) {
  for (int rank = 0; rank < 3; ++rank) Say(rank, MessageType::kHello);
  Pass(seconds(100));  // Before anybody waits there is no hurry.
  Say(1, MessageType::kAttach);
  Pass(seconds(29));
  EXPECT_EQ(job_.deadline(), now_ + seconds(1));
  Pass(seconds(1));
  EXPECT_EQ(job_.verdict(),
            "rank 0 on a, rank 2 on b did not join the job (init() or Engine::Create) within the "
            "start timeout of 30 s, where rank 1 on a waits; --start-timeout gives it longer");
  EXPECT_EQ(Told(MessageType::kTerminate), (Ranks{0, 1, 2}));
  EXPECT_EQ(job_.exit_code(), 1);
}

TEST_F(JobTest, RanksThatComeButDoNotMeetAreNoHang) {
  for (int rank = 0; rank < 3; ++rank) {
    Say(rank, MessageType::kHello);
    Say(rank, MessageType::kAttach);
  }
  Pass(seconds(30));
  EXPECT_THAT(job_.verdict(), HasSubstr("the ranks have all come but did not meet within"));
}

TEST_F(JobTest, EachRankIsToldTheAddressesOfAllOnceAllHaveBroughtTheirs) {
  for (int rank = 0; rank < 3; ++rank) Say(rank, MessageType::kHello);
  for (int meeting = 0; meeting < 2; ++meeting) {
    sent_.clear();
    for (const int rank : {2, 0}) {
      Say(rank, MessageType::kAttach);
      Say(rank, MessageType::kAddress, 0, "of " + std::to_string(rank));
    }
    EXPECT_THAT(Told(MessageType::kAddresses), IsEmpty());
    Say(1, MessageType::kAddress, 0, "of 1");
    EXPECT_EQ(Told(MessageType::kAddresses), (Ranks{0, 1, 2}));
    EXPECT_EQ(Last().rank, 2);
    EXPECT_EQ(Last().code, 3);
    std::vector<std::string> addresses;
    supervision::AppendAddresses(Last().text, 3, addresses);
    EXPECT_EQ(addresses, (std::vector<std::string>{"of 0", "of 1", "of 2"}));
  }
}

TEST_F(JobTest, AnAddressOfARankThatHasLeftIsToldToNobody) {
  for (int rank = 0; rank < 3; ++rank) Say(rank, MessageType::kHello);
  Say(0, MessageType::kAddress, 0, "old");
  Say(0, MessageType::kLeave);
  for (const int rank : {1, 2}) Say(rank, MessageType::kAddress, 0, "x");
  EXPECT_THAT(Told(MessageType::kAddresses), IsEmpty());
  Say(0, MessageType::kAddress, 0, "new");
  EXPECT_THAT(Last().text, HasSubstr("new"));
}

TEST_F(JobTest, WhoGivesUpJoiningIsNotWaitedFor) {
  for (int rank = 0; rank < 3; ++rank) Say(rank, MessageType::kHello);
  Say(0, MessageType::kAttach);
  Say(0, MessageType::kLeave);
  EXPECT_FALSE(job_.deadline());
  Pass(seconds(60));
  EXPECT_FALSE(job_.ending());
}

TEST_F(JobTest, AnAbortOfOneWhoWaitsNamesWhoHasNotCome) {
  for (int rank = 0; rank < 3; ++rank) Say(rank, MessageType::kHello);
  Say(0, MessageType::kAttach);
  Say(1, MessageType::kAttach);
  Say(0, MessageType::kAbort, 0, "not all ranks joined");
  EXPECT_EQ(job_.verdict(),
            "rank 0 on a ended the job: not all ranks joined; rank 2 on b had not joined it");
}

TEST_F(JobTest, TheTimeToJoinBeginsWhenAllProgramsRun) {
  Say(0, MessageType::kHello);
  Say(1, MessageType::kHello);
  Say(0, MessageType::kAttach);
  Pass(seconds(29));
  Say(2, MessageType::kHello);  // Just in time.
  Pass(seconds(29));
  EXPECT_FALSE(job_.ending());
  Pass(seconds(1));
  EXPECT_THAT(job_.verdict(), HasSubstr("rank 1 on a, rank 2 on b did not join the job"));
}

TEST_F(JobTest, WhoEndsWhileItWaitsIsForgottenWhereNobodyMissesIt) {
  for (int rank = 0; rank < 3; ++rank) Say(rank, MessageType::kHello);
  Say(0, MessageType::kAttach);
  Say(0, MessageType::kExited, Exit(0));
  Pass(seconds(60));
  EXPECT_FALSE(job_.ending());
  EXPECT_FALSE(job_.deadline());
}

TEST_F(JobTest, WhoEndsWhileItWaitsIsMissedByOthersWhoWait) {
  for (int rank = 0; rank < 3; ++rank) Say(rank, MessageType::kHello);
  Say(0, MessageType::kAttach);
  Say(1, MessageType::kAttach);
  Say(0, MessageType::kExited, Exit(0));
  Pass(seconds(1));
  EXPECT_EQ(job_.verdict(), "rank 0 on a: exited without leaving (exit code 0)");
}

TEST_F(JobTest, RanksThatDoNotStartInTimeAreNamed) {
  Say(0, MessageType::kHello);
  EXPECT_EQ(job_.deadline(), now_ + seconds(30));
  Pass(seconds(30));
  EXPECT_THAT(job_.verdict(), HasSubstr("rank 1 on a, rank 2 on b did not start"));
  EXPECT_EQ(Told(MessageType::kTerminate), Ranks{0});
  Say(2, MessageType::kHello);  // Too late.
  EXPECT_EQ(Told(MessageType::kFinish), Ranks{2});
  EXPECT_EQ(Told(MessageType::kWelcome), Ranks{0});
  Say(0, MessageType::kStopped, SIGTERM);
  EXPECT_TRUE(job_.over());
}

TEST_F(JobTest, AShortStartTimeoutIsSaidAsItIs) {
  FixedJob job(RankPlaces({"a"}), JobPolicy{.start_timeout = milliseconds(1)}, now_,
               [](int, const Message&) {});
  job.Tick(now_ + milliseconds(1));
  EXPECT_THAT(job.verdict(), HasSubstr("the start timeout of 0.001 s;"));
}

TEST_F(JobTest, MpiexecThatFailsBeforeTheStartIsTheCause) {
  EndMpiexec(job_, Exit(255), now_);
  EXPECT_TRUE(job_.over());
  EXPECT_EQ(job_.exit_code(), 1);  // 255 would look like a rank's own.
  EXPECT_THAT(job_.verdict(), HasSubstr("mpiexec ended with exit code 255 before it had started"));
  EXPECT_THAT(job_.verdict(), HasSubstr("--mpi-args"));
}

}  // namespace
}  // namespace weir::launcher
