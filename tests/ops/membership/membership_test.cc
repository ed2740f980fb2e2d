#include "ops/membership/membership.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <algorithm>
#include <condition_variable>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <vector>

#include "common/supervision/supervision.h"
#include "ops/local/membership.h"
#include "ops/membership/supervisor_membership.h"
#include "tests/ops/membership/fake_supervisor.h"
#include "weir/error.h"

namespace weir {
namespace {

using supervision::Message;
using supervision::MessageType;
using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;
using Kind = MembershipEvent::Kind;

/// A listener that a test can wait on.
class Mailbox {
 public:
  Membership::Listener listener() {
    return [this](const MembershipEvent& event) {
      const std::lock_guard lock(mutex_);
      events_.push_back(event);
      arrived_.notify_all();
    };
  }
  /// The next event; waits for it.
  MembershipEvent Next() {
    std::unique_lock lock(mutex_);
    arrived_.wait(lock, [this] { return taken_ < events_.size(); });
    return events_[taken_++];
  }
  std::size_t count() {
    const std::lock_guard lock(mutex_);
    return events_.size();
  }

 private:
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::vector<MembershipEvent> events_;
  std::size_t taken_ = 0;
};

TEST(SupervisorMembership, AttachesAndPassesOnWhatTheEngineSays) {
  FakeSupervisor supervisor;
  SupervisorMembership membership(supervisor.TakeEngineEnd());
  EXPECT_EQ(supervisor.Hear().type, MessageType::kAttach);
  membership.RequestStatus();
  EXPECT_EQ(supervisor.Hear().type, MessageType::kStatusRequest);
  membership.SendStatus("waiting for layer.0");
  const Message status = supervisor.Hear();
  EXPECT_EQ(status.type, MessageType::kStatus);
  EXPECT_EQ(status.text, "waiting for layer.0");
  membership.Leave();
  EXPECT_EQ(supervisor.Hear().type, MessageType::kLeave);
  membership.SendTotals("7 steps");
  const Message totals = supervisor.Hear();
  EXPECT_EQ(totals.type, MessageType::kTotals);
  EXPECT_EQ(totals.text, "7 steps");
}

TEST(SupervisorMembership, SaysThatItHasJoined) {
  FakeSupervisor supervisor;
  {
    SupervisorMembership membership(supervisor.TakeEngineEnd());
    EXPECT_EQ(supervisor.Hear().type, MessageType::kAttach);
    membership.Joined();
    EXPECT_EQ(supervisor.Hear().type, MessageType::kJoined);
  }
  EXPECT_TRUE(supervisor.HearsTheEnd());
}

TEST(SupervisorMembership, LeavesWhenItIsGivenUpBeforeItHasJoined) {
  FakeSupervisor supervisor;
  std::make_unique<SupervisorMembership>(supervisor.TakeEngineEnd()).reset();
  EXPECT_EQ(supervisor.Hear().type, MessageType::kAttach);
  EXPECT_EQ(supervisor.Hear().type, MessageType::kLeave);
}

TEST(SupervisorMembership, AbortsOnce) {
  FakeSupervisor supervisor;
  SupervisorMembership membership(supervisor.TakeEngineEnd());
  membership.Abort("first");
  membership.Abort("second");
  membership.Leave();
  EXPECT_EQ(supervisor.Hear().type, MessageType::kAttach);
  EXPECT_EQ(supervisor.Hear().text, "first");
  EXPECT_EQ(supervisor.Hear().type, MessageType::kLeave);
}

TEST(SupervisorMembership, ALossNamesRankHostAndCause) {
  FakeSupervisor supervisor;
  SupervisorMembership membership(supervisor.TakeEngineEnd());
  Mailbox mailbox;
  membership.Listen(mailbox.listener());
  supervisor.Tell(
      {.type = MessageType::kPeerLost, .rank = 2, .host = "node-b", .text = "signal 9 (Killed)"});
  const MembershipEvent event = mailbox.Next();
  EXPECT_EQ(event.kind, Kind::kPeerLost);
  EXPECT_EQ(event.rank, 2);
  EXPECT_EQ(event.host, "node-b");
  EXPECT_EQ(event.text, "signal 9 (Killed)");
}

TEST(SupervisorMembership, ARequestForAFlightRecordingHasItsNumber) {
  FakeSupervisor supervisor;
  SupervisorMembership membership(supervisor.TakeEngineEnd());
  Mailbox mailbox;
  membership.Listen(mailbox.listener());
  supervisor.Tell({.type = MessageType::kRecordFlight, .code = 3});
  const MembershipEvent event = mailbox.Next();
  EXPECT_EQ(event.kind, Kind::kRecordFlight);
  EXPECT_EQ(event.number, 3);
}

TEST(SupervisorMembership, EventsWaitForAListener) {
  FakeSupervisor supervisor;
  SupervisorMembership membership(supervisor.TakeEngineEnd());
  supervisor.Tell({.type = MessageType::kAbort, .rank = 1, .text = "enough"});
  Mailbox mailbox;
  membership.Listen(mailbox.listener());
  EXPECT_EQ(mailbox.Next().text, "enough");
}

TEST(SupervisorMembership, MalformedPacketsAreNoEvents) {
  FakeSupervisor supervisor;
  SupervisorMembership membership(supervisor.TakeEngineEnd());
  Mailbox mailbox;
  membership.Listen(mailbox.listener());
  supervisor.TellBytes("nonsense");
  supervisor.TellBytes(std::string(supervision::kMaxFrame + 100, '\xff'));
  supervisor.Tell({.type = MessageType::kWelcome});
  supervisor.Tell({.type = MessageType::kStatusRequest});
  EXPECT_EQ(mailbox.Next().kind, Kind::kStatusRequest);
}

TEST(SupervisorMembership, ADeadSupervisorIsALostLauncher) {
  FakeSupervisor supervisor;
  SupervisorMembership membership(supervisor.TakeEngineEnd());
  Mailbox mailbox;
  membership.Listen(mailbox.listener());
  supervisor.Die();
  EXPECT_EQ(mailbox.Next().kind, Kind::kLauncherLost);
}

TEST(SupervisorMembership, NoEventOnceListenNullHasReturned) {
  FakeSupervisor supervisor;
  SupervisorMembership membership(supervisor.TakeEngineEnd());
  Mailbox first;
  Mailbox second;
  membership.Listen(first.listener());
  membership.Listen(nullptr);
  supervisor.Tell({.type = MessageType::kStatusRequest});
  membership.Listen(second.listener());
  EXPECT_EQ(second.Next().kind, Kind::kStatusRequest);
  EXPECT_EQ(first.count(), 0u);
}

TEST(SupervisorMembership, IsSilentInAForkedChild) {
  FakeSupervisor supervisor;
  auto membership = std::make_unique<SupervisorMembership>(supervisor.TakeEngineEnd());
  EXPECT_EQ(supervisor.Hear().type, MessageType::kAttach);
  const pid_t child = fork();
  if (child == 0) {
    membership->Abort("from a data-loader worker");
    membership->Leave();
    membership->Listen(nullptr);
    membership.reset();
    _exit(0);
  }
  int status = 1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(supervisor.HearsNothing());
  Mailbox mailbox;  // And the parent's still works.
  membership->Listen(mailbox.listener());
  supervisor.Tell({.type = MessageType::kStatusRequest});
  EXPECT_EQ(mailbox.Next().kind, Kind::kStatusRequest);
}

TEST(SupervisorMembership, CanBeMadeAgainFromTheSameEnvironment) {
  FakeSupervisor supervisor;
  supervisor.SetEnvironment();
  for (int life = 0; life < 2; ++life) {
    const auto membership = SupervisorMembership::FromEnvironment();
    EXPECT_EQ(supervisor.Hear().type, MessageType::kAttach);
    membership->Leave();
    EXPECT_EQ(supervisor.Hear().type, MessageType::kLeave);
  }
  EXPECT_NE(fcntl(supervisor.engine_end(), F_GETFD) & FD_CLOEXEC, 0);
  FakeSupervisor::UnsetEnvironment();
}

TEST(SupervisorMembership, ADescriptorThatIsSomethingElseIsRefused) {
  for (const char* text : {"0", "-1", "7x", "", "99999"}) {
    setenv(supervision::kEngineFdVariable, text, 1);
    EXPECT_THROW(SupervisorMembership::FromEnvironment(), InvalidArgument) << text;
  }
  FakeSupervisor::UnsetEnvironment();
  EXPECT_EQ(SupervisorMembership::FromEnvironment(), nullptr);
}

TEST(SupervisorMembership, AWeirrunOfAnotherVersionIsRefused) {
  FakeSupervisor supervisor;
  supervisor.SetEnvironment(supervision::kVersion - 1);
  const auto make = [] { SupervisorMembership::FromEnvironment(); };
  const std::string here = ", here " + std::to_string(supervision::kVersion) + ")";
  EXPECT_THAT(make, ThrowsMessage<InvalidArgument>(AllOf(
                        HasSubstr("(protocol " + std::to_string(supervision::kVersion - 1) + here),
                        HasSubstr("the weirrun of its own Weir"))));
  unsetenv(supervision::kProtocolVariable);  // As before there was one.
  EXPECT_THAT(make, ThrowsMessage<InvalidArgument>(HasSubstr("(protocol none" + here)));
  EXPECT_TRUE(supervisor.HearsNothing());
  FakeSupervisor::UnsetEnvironment();
}

/// While it lives this process gets no new descriptor.
class NoMoreDescriptors {
 public:
  NoMoreDescriptors() {
    getrlimit(RLIMIT_NOFILE, &before_);
    const UniqueFd lowest_free(open("/dev/null", O_RDONLY | O_CLOEXEC));
    const rlimit none = {static_cast<rlim_t>(lowest_free.get()), before_.rlim_max};
    setrlimit(RLIMIT_NOFILE, &none);
  }
  NoMoreDescriptors(const NoMoreDescriptors&) = delete;
  NoMoreDescriptors& operator=(const NoMoreDescriptors&) = delete;
  ~NoMoreDescriptors() { setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

/// Error of a call in a process that is out of descriptors. Checked outside of that state, because
/// the sanitizers need descriptors themselves.
template <typename Call>
std::string WithoutDescriptors(Call call) {
  std::exception_ptr thrown;
  {
    const NoMoreDescriptors limit;
    try {
      call();
    } catch (...) {
      thrown = std::current_exception();
    }
  }
  try {
    if (thrown) std::rethrow_exception(thrown);
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return "no error";
}

TEST(SupervisorMembership, IsRefusedToAProcessThatIsOutOfDescriptors) {
  FakeSupervisor supervisor;
  supervisor.SetEnvironment();
  // With descriptors it works; and a sanitizer has then seen the first object of the type.
  EXPECT_NE(SupervisorMembership::FromEnvironment(), nullptr);
  EXPECT_THAT(WithoutDescriptors([] { SupervisorMembership::FromEnvironment(); }),
              AllOf(HasSubstr("cannot duplicate the socket"), HasSubstr("Too many open files")));
  FakeSupervisor::UnsetEnvironment();
  EXPECT_THAT(
      WithoutDescriptors([&] { SupervisorMembership membership(supervisor.TakeEngineEnd()); }),
      AllOf(HasSubstr("cannot make an eventfd"), HasSubstr("Too many open files")));
}

class MembershipHubTest : public testing::Test {
 protected:
  MembershipHubTest() {
    for (int rank = 0; rank < 3; ++rank) {
      members_.push_back(hub_.Member(rank));
      members_.back()->Listen(mailboxes_[rank].listener());
    }
  }
  local::MembershipHub hub_{3};
  Mailbox mailboxes_[3];
  std::vector<std::unique_ptr<Membership>> members_;
};

TEST_F(MembershipHubTest, ADeathReachesAllOthers) {
  hub_.Kill(1, "signal 11 (Segmentation fault)");
  for (const int rank : {0, 2}) {
    const MembershipEvent event = mailboxes_[rank].Next();
    EXPECT_EQ(event.kind, Kind::kPeerLost);
    EXPECT_EQ(event.rank, 1);
    EXPECT_EQ(event.text, "signal 11 (Segmentation fault)");
  }
  EXPECT_EQ(mailboxes_[1].count(), 0u);
}

TEST_F(MembershipHubTest, TheDeadSayNothing) {
  hub_.Kill(1);
  mailboxes_[0].Next();
  members_[1]->Abort("ghost");
  members_[2]->Abort("alive");
  EXPECT_EQ(mailboxes_[0].Next().text, "alive");
}

TEST_F(MembershipHubTest, WhoHasLeftIsNotLost) {
  members_[1]->Leave();
  hub_.Kill(1);
  hub_.Kill(2);
  EXPECT_EQ(mailboxes_[0].Next().rank, 2);
}

TEST_F(MembershipHubTest, AnAbortReachesAllOthersOnce) {
  members_[2]->Abort("first");
  members_[2]->Abort("second");
  members_[0]->Abort("third");
  EXPECT_EQ(mailboxes_[1].Next().text, "first");
  EXPECT_EQ(mailboxes_[1].Next().text, "third");
}

TEST_F(MembershipHubTest, StatusGoesFromEverybodyToRankZero) {
  members_[1]->RequestStatus();
  for (int rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(mailboxes_[rank].Next().kind, Kind::kStatusRequest);
    members_[static_cast<std::size_t>(rank)]->SendStatus("rank " + std::to_string(rank));
    const MembershipEvent status = mailboxes_[0].Next();
    EXPECT_EQ(status.kind, Kind::kStatus);
    EXPECT_EQ(status.rank, rank);
    EXPECT_EQ(status.text, "rank " + std::to_string(rank));
  }
}

TEST_F(MembershipHubTest, ALostLauncherIsSeenByAll) {
  hub_.LoseLauncher();
  for (Mailbox& mailbox : mailboxes_) EXPECT_EQ(mailbox.Next().kind, Kind::kLauncherLost);
}

TEST_F(MembershipHubTest, AMemberMayGoWhileEventsArrive) {
  for (int round = 0; round < 200; ++round) {
    members_[0]->RequestStatus();
    members_[1] = nullptr;
    members_[1] = hub_.Member(1);
    members_[1]->Listen(mailboxes_[1].listener());
  }
  members_[0]->RequestStatus();
  EXPECT_EQ(mailboxes_[1].Next().kind, Kind::kStatusRequest);
}

}  // namespace
}  // namespace weir
