// The hub's server and its links, over loopback, as the processes of a job use them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <future>
#include <memory>
#include <vector>

#include "common/supervision/introduction.h"
#include "common/supervision/message_socket.h"
#include "common/supervision/proof.h"
#include "common/supervision/tcp.h"
#include "ops/hub/hub_link.h"
#include "ops/hub/hub_server.h"
#include "ops/membership/supervisor_membership.h"
#include "ops/membership/supervisor_socket.h"
#include "weir/error.h"

namespace weir {
namespace {

using namespace std::chrono_literals;
using supervision::Message;
using supervision::MessageSocket;
using supervision::MessageType;
using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr auto kLong = 60s;

class HubConnection : public testing::Test {
 protected:
  HubConnection() { Open(3); }

  void Open(std::size_t ranks, std::chrono::milliseconds start_timeout = kLong) {
    server_.reset();
    server_ = std::make_unique<HubServer>(
        HubServer::Options{.ranks = ranks, .token = "secret", .start_timeout = start_timeout});
  }
  std::unique_ptr<SupervisorMembership> Join(int rank, const std::string& token = "secret",
                                             std::chrono::milliseconds timeout = kLong) const {
    SocketPair pair = MakeSocketPair();
    auto link =
        std::make_shared<HubLink>(HubLink::Options{.host = "localhost",
                                                   .port = server_->port(),
                                                   .token = token,
                                                   .rank = rank,
                                                   .own_host = "host-" + std::to_string(rank),
                                                   .timeout = timeout},
                                  std::move(pair.supervisor));
    return std::make_unique<SupervisorMembership>(std::move(pair.engine), std::move(link));
  }
  static std::future<Rendezvous::Meeting> Meet(SupervisorMembership& membership,
                                               const std::string& address) {
    return std::async(std::launch::async,
                      [&membership, address] { return membership.Meet(address, kLong); });
  }
  /// Connects without a rank behind it.
  UniqueFd Connection() const {
    return supervision::Connect("127.0.0.1:" + std::to_string(server_->port()), kLong);
  }
  /// Connects as a rank, without an engine.
  MessageSocket Known(const Message& hello) const {
    supervision::Introduction met = supervision::Introduce(
        Connection(), hello, supervision::Secret::OfHub("secret", server_->port()), kLong);
    EXPECT_TRUE(met.socket) << met.why;
    return std::move(*met.socket);
  }
  /// Waits for what it is told; nothing if the connection closes instead.
  static std::optional<Message> Hear(MessageSocket& socket) {
    while (socket.open()) {
      for (const Message& message : socket.Receive()) {
        if (message.type != MessageType::kHeartbeat) return message;
      }
    }
    return {};
  }

  std::unique_ptr<HubServer> server_;
};

/// A rank that listens, and is known to the hub once made.
class ListeningRank {
 public:
  explicit ListeningRank(std::unique_ptr<SupervisorMembership> membership)
      : membership_(std::move(membership)) {
    membership_->Listen([this](const MembershipEvent& event) {
      (event.kind == MembershipEvent::Kind::kStatusRequest ? known_ : told_).set_value(event);
    });
    membership_->Joined();
    membership_->RequestStatus();
    known_.get_future().get();
  }
  ~ListeningRank() { membership_->Listen(nullptr); }

  SupervisorMembership& membership() { return *membership_; }
  std::future<MembershipEvent>& told() { return future_; }

 private:
  std::promise<MembershipEvent> known_;
  std::promise<MembershipEvent> told_;
  std::future<MembershipEvent> future_ = told_.get_future();
  std::unique_ptr<SupervisorMembership> membership_;
};

TEST_F(HubConnection, RanksMeetAndMeetAgain) {
  for (int engine = 0; engine < 2; ++engine) {
    Open(3);
    std::vector<std::unique_ptr<SupervisorMembership>> ranks;
    for (int rank = 0; rank < 3; ++rank) ranks.push_back(Join(rank));
    std::vector<std::future<Rendezvous::Meeting>> meetings;
    for (int rank = 0; rank < 3; ++rank) {
      meetings.push_back(Meet(*ranks[static_cast<std::size_t>(rank)], std::to_string(rank)));
    }
    for (int rank = 0; rank < 3; ++rank) {
      const Rendezvous::Meeting meeting = meetings[static_cast<std::size_t>(rank)].get();
      EXPECT_EQ(meeting.rank, rank);
      EXPECT_EQ(meeting.addresses, (std::vector<std::string>{"0", "1", "2"}));
    }
    for (auto& rank : ranks) {
      rank->Joined();
      rank->Leave();
    }
  }
}

TEST_F(HubConnection, WhoLeavesWhileAForkedChildLivesIsNotHeldUp) {
  auto one = Join(1);
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t child = fork();  // Has copies of all sockets, until the pipe closes.
  if (child == 0) {
    close(ends[1]);
    char never = 0;
    _exit(read(ends[0], &never, 1) == 0 ? 0 : 1);
  }
  one.reset();
  const std::uint16_t port = server_->port();
  server_.reset();
  EXPECT_NO_THROW(supervision::Listen("127.0.0.1", port));
  close(ends[1]);
  close(ends[0]);
  waitpid(child, nullptr, 0);
}

TEST_F(HubConnection, WhoWantsTheNextJobWaitsForItsHub) {
  {
    ListeningRank one(Join(1));
    one.membership().Leave();
  }
  auto again = Join(1, "secret", 1ms);
  EXPECT_THAT([&] { again->Meet("1", kLong); },
              ThrowsMessage<TimedOut>(HasSubstr("has not left an earlier job yet")));
}

TEST_F(HubConnection, ARankWhoseProcessEndsIsNamedToWhoMeets) {
  auto zero = Join(0);
  auto meeting = Meet(*zero, "0");
  {
    MessageSocket dying = Known({.type = MessageType::kHello, .rank = 2, .host = "b"});
    ASSERT_TRUE(Hear(dying));  // Welcome.
    dying.Send({.type = MessageType::kAttach});
  }
  EXPECT_THAT([&] { meeting.get(); },
              ThrowsMessage<PeerLost>("rank 2 on b is lost before it joined the job: its process "
                                      "has ended"));
}

TEST_F(HubConnection, WhoDoesNotKnowTheTokenIsSentAway) {
  auto rank = Join(1, "guess", 1ms);
  EXPECT_THAT([&] { rank->Meet("1", kLong); },
              ThrowsMessage<TimedOut>(HasSubstr("does not take this job's token (WEIR_TOKEN")));
}

TEST_F(HubConnection, AHubThatGivesUpFirstDoesNotHideWhatItHasSaid) {
  const UniqueFd listener = supervision::Listen("127.0.0.1", 0);
  auto hub = std::async(std::launch::async, [&] {
    // The first stranger is challenged; all are cut off, and the last is the test's own.
    for (bool challenged = false;; challenged = true) {
      pollfd wait{listener.get(), POLLIN, 0};
      poll(&wait, 1, -1);
      MessageSocket stranger(supervision::Accept(listener));
      std::vector<Message> hello;
      while (stranger.open() && hello.empty()) hello = stranger.Receive();
      if (hello.empty() || hello.front().rank != 1) return;
      if (challenged) continue;
      stranger.Send({.type = MessageType::kChallenge,
                     .code = supervision::kVersion,
                     .text = supervision::Nonce()});
    }
  });
  SocketPair pair = MakeSocketPair();
  auto link = std::make_shared<HubLink>(HubLink::Options{.host = "127.0.0.1",
                                                         .port = supervision::PortOf(listener),
                                                         .token = "t",
                                                         .rank = 1,
                                                         .timeout = 500ms},
                                        std::move(pair.supervisor));
  SupervisorMembership rank(std::move(pair.engine), std::move(link));
  EXPECT_THAT([&] { rank.Meet("1", kLong); },
              ThrowsMessage<TimedOut>(HasSubstr("does not take this job's token")));
  supervision::Connect("127.0.0.1:" + std::to_string(supervision::PortOf(listener)), kLong);
  hub.get();
}

TEST_F(HubConnection, TheHubOfAnotherPortIsNone) {
  const auto met =
      supervision::Introduce(Connection(), {.type = MessageType::kHello, .rank = 1},
                             supervision::Secret::OfHub("secret", server_->port() ^ 1), kLong);
  EXPECT_FALSE(met.socket);
}

TEST_F(HubConnection, ASecondProcessOfTheSameRankIsRefused) {
  auto first = Join(1);
  MessageSocket second = Known({.type = MessageType::kHello, .rank = 0});
  ASSERT_TRUE(Hear(second));
  auto third = Join(0);
  EXPECT_THAT([&] { third->Meet("0", kLong); },
              ThrowsMessage<InvalidArgument>("two processes are rank 0 by their launcher"));
}

TEST_F(HubConnection, ARankBeyondTheJobIsRefused) {
  auto rank = Join(3);
  EXPECT_THAT([&] { rank->Meet("3", kLong); },
              ThrowsMessage<InvalidArgument>(HasSubstr("rank 3 by its launcher, and rank 0 counts "
                                                       "3 ranks")));
}

TEST_F(HubConnection, AnOlderVersionIsRefused) {
  MessageSocket old(Connection());
  old.Send({.type = MessageType::kHello, .rank = 1, .code = 8, .text = "secret"});
  const auto answer = Hear(old);
  ASSERT_TRUE(answer);
  EXPECT_THAT(answer->text, HasSubstr("different versions of Weir"));
}

TEST_F(HubConnection, TheAbsentAreNamed) {
  Open(3, 1ms);
  auto one = Join(1);
  EXPECT_THAT([&] { one->Meet("1", kLong); },
              ThrowsMessage<TimedOut>(HasSubstr("ranks 0, 2 did not join the job")));
}

TEST_F(HubConnection, WithoutAHubTheWaitEnds) {
  const std::uint16_t port = server_->port();
  SocketPair pair = MakeSocketPair();
  server_.reset();
  auto link = std::make_shared<HubLink>(
      HubLink::Options{.host = "127.0.0.1", .port = port, .token = "t", .rank = 1, .timeout = 1ms},
      std::move(pair.supervisor));
  SupervisorMembership rank(std::move(pair.engine), std::move(link));
  EXPECT_THAT([&] { rank.Meet("1", kLong); },
              ThrowsMessage<TimedOut>(HasSubstr("Connection refused")));
}

TEST_F(HubConnection, TheEndOfItsProcessIsThatOfRankZero) {
  ListeningRank one(Join(1));
  server_.reset();  // Waits in vain for rank 1 to leave, for as long as it does.
  const MembershipEvent event = one.told().get();
  EXPECT_EQ(event.kind, MembershipEvent::Kind::kPeerLost);
  EXPECT_EQ(event.rank, 0);
  EXPECT_EQ(event.text, "its process has ended");
}

TEST_F(HubConnection, ItWaitsForRanksThatStillLeave) {
  ListeningRank one(Join(1));
  auto end = std::async(std::launch::async, [&] { server_.reset(); });
  one.membership().Leave();
  end.get();
  EXPECT_EQ(one.told().wait_for(0s), std::future_status::timeout);
}

}  // namespace
}  // namespace weir
