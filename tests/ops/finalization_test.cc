#include "ops/mpi/finalization.h"

#include <gtest/gtest.h>

#include "tests/ops/fake_supervisor.h"

namespace weir::mpi {
namespace {

using supervision::MessageType;

TEST(Finalization, AnnouncesAsksAndTakesTheAnswer) {
  for (const bool all_have_come : {true, false}) {
    FakeSupervisor supervisor;
    Finalization finalization(supervisor.TakeEngineEnd());
    finalization.Announce();
    EXPECT_EQ(supervisor.Hear().type, MessageType::kInitializing);
    // What was meant for an engine that has gone is no answer.
    supervisor.Tell({.type = MessageType::kStatusRequest, .rank = 0});
    supervisor.Tell({.type = MessageType::kFinalize, .code = all_have_come ? 1 : 0});
    EXPECT_EQ(finalization.AllHaveCome(), all_have_come);
    EXPECT_EQ(supervisor.Hear().type, MessageType::kFinalizing);
  }
}

TEST(Finalization, AJobThatIsEndingDoesNotFinalise) {
  for (const MessageType type :
       {MessageType::kPeerLost, MessageType::kAbort, MessageType::kLauncherLost}) {
    FakeSupervisor supervisor;
    supervisor.Tell({.type = type, .rank = 1});
    EXPECT_FALSE(Finalization(supervisor.TakeEngineEnd()).AllHaveCome());
  }
}

TEST(Finalization, ASupervisorThatHasGoneOrTalksNonsenseGivesNoAnswer) {
  FakeSupervisor gone;
  gone.Die();
  EXPECT_FALSE(Finalization(gone.TakeEngineEnd()).AllHaveCome());
  FakeSupervisor nonsense;
  nonsense.TellBytes("nonsense");
  EXPECT_FALSE(Finalization(nonsense.TakeEngineEnd()).AllHaveCome());
}

TEST(Finalization, WithoutASupervisorNobodyIsAsked) {
  Finalization finalization{UniqueFd()};
  finalization.Announce();
  EXPECT_TRUE(finalization.AllHaveCome());
}

}  // namespace
}  // namespace weir::mpi
