#include "ops/mpi/finalize_permission.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <string>
#include <utility>

#include "tests/ops/membership/fake_supervisor.h"

namespace weir::mpi {
namespace {

using supervision::MessageType;

TEST(FinalizePermission, AsksOnceAndTakesTheAnswer) {
  for (const bool all_would : {true, false}) {
    FakeSupervisor supervisor;
    FinalizePermission permission(supervisor.TakeEngineEnd());
    // A message meant for an earlier engine is not an answer.
    supervisor.Tell({.type = MessageType::kStatusRequest, .rank = 0});
    supervisor.Tell(
        {.type = MessageType::kFinalize, .rank = all_would ? -1 : 2, .code = all_would ? 1 : 0});
    EXPECT_FALSE(permission.asked());
    for (int time = 0; time < 2; ++time) {
      const FinalizePermission::Answer answer = permission.Ask();
      EXPECT_EQ(answer.all_would, all_would);
      EXPECT_EQ(answer.never_would, all_would ? -1 : 2);
      EXPECT_TRUE(permission.asked());
    }
    EXPECT_EQ(supervisor.Hear().type, MessageType::kFinalizing);
    EXPECT_TRUE(supervisor.HearsNothing());
  }
}

TEST(FinalizePermission, AJobThatIsEndingDoesNotFinalise) {
  for (const MessageType type :
       {MessageType::kPeerLost, MessageType::kAbort, MessageType::kLauncherLost}) {
    FakeSupervisor supervisor;
    supervisor.Tell({.type = type, .rank = 1});
    const auto answer = FinalizePermission(supervisor.TakeEngineEnd()).Ask();
    EXPECT_FALSE(answer.all_would);
    EXPECT_EQ(answer.never_would, -1);
  }
}

TEST(FinalizePermission, ASupervisorThatHasGoneOrTalksNonsenseGivesNoAnswer) {
  FakeSupervisor gone;
  gone.Die();
  EXPECT_FALSE(FinalizePermission(gone.TakeEngineEnd()).Ask().all_would);
  FakeSupervisor nonsense;
  nonsense.TellBytes("nonsense");
  EXPECT_FALSE(FinalizePermission(nonsense.TakeEngineEnd()).Ask().all_would);
}

TEST(FinalizePermission, AQuestionThatCannotBeSentIsNotWaitedFor) {
  FakeSupervisor full;
  UniqueFd socket = full.TakeEngineEnd();
  const std::string filler(4096, 'x');
  while (send(socket.get(), filler.data(), filler.size(), MSG_DONTWAIT) > 0) {
  }
  // The time limit of the environment's socket, which this one has not; so that the test ends.
  const timeval soon{.tv_sec = 0, .tv_usec = 1000};
  ASSERT_EQ(setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &soon, sizeof soon), 0);
  EXPECT_FALSE(FinalizePermission(std::move(socket)).Ask().all_would);
}

TEST(FinalizePermission, WithoutASupervisorNobodyIsAsked) {
  EXPECT_TRUE(FinalizePermission(UniqueFd()).Ask().all_would);
}

TEST(FinalizePermission, AnAbortSaysWhy) {
  FakeSupervisor supervisor;
  FinalizePermission(supervisor.TakeEngineEnd()).Abort("why");
  const supervision::Message message = supervisor.Hear();
  EXPECT_EQ(message.type, MessageType::kAbort);
  EXPECT_EQ(message.text, "why");
}

}  // namespace
}  // namespace weir::mpi
