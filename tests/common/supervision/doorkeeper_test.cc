// Who comes to a door of the job, over loopback. The clock is the test's own.
#include "common/supervision/doorkeeper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <future>
#include <optional>
#include <string>
#include <vector>

#include "common/supervision/heartbeat.h"
#include "common/supervision/introduction.h"
#include "common/supervision/tcp.h"

namespace weir::supervision {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::SizeIs;
using testing::StartsWith;

constexpr auto kLong = 60s;
const Secret kDoorSecret = Secret::OfWeirrun("secret");

class Door : public testing::Test {
 protected:
  Door() { Open(64); }

  void Open(std::size_t most) {
    door_.emplace(kDoorSecret, most, [this](const std::string& text) { told_.push_back(text); });
  }
  UniqueFd Connection() { return Connect("127.0.0.1:" + std::to_string(PortOf(listener_)), kLong); }
  /// A connection that the doorkeeper has taken.
  UniqueFd Taken() {
    UniqueFd connection = Connection();
    Turn();
    return connection;
  }
  /// A stranger that has said `hello` and been heard.
  MessageSocket Stranger(const Message& hello) {
    MessageSocket socket(Taken());
    Say(socket, hello);
    return socket;
  }
  void Say(MessageSocket& socket, const Message& message) {
    socket.Send(message);
    Turn();
  }
  void Say(const UniqueFd& connection, std::string_view bytes) {
    EXPECT_EQ(send(connection.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
    Turn();
  }
  /// Waits until somebody comes or says something, and lets the doorkeeper look.
  void Turn() {
    std::vector<pollfd> fds = {{listener_.get(), POLLIN, 0}};
    door_->AddPolls(fds);
    ASSERT_GT(poll(fds.data(), fds.size(), 60000), 0);
    for (auto& guest : door_->Introduce(std::span(fds).subspan(1), now_)) {
      guests_.push_back(std::move(guest));
    }
    if (fds[0].revents != 0) {
      EXPECT_THAT(door_->Accept(listener_, now_), testing::AnyOf(0, EAGAIN));
    }
  }
  /// Waits for what it is told; nothing if the connection ends instead.
  static std::optional<Message> Hear(MessageSocket& socket) {
    while (socket.open()) {
      for (const Message& message : socket.Receive()) return message;
    }
    return {};
  }

  const UniqueFd listener_ = Listen("127.0.0.1");
  Doorkeeper::Time now_{};
  std::vector<std::string> told_;
  std::vector<Doorkeeper::Guest> guests_;
  std::optional<Doorkeeper> door_;
};

Message Hello() {
  return {.type = MessageType::kHello, .rank = 3, .code = kVersion, .host = "b", .text = Nonce()};
}

Message ProofBy(const std::string& token, const Message& hello, const Message& challenge) {
  return {.type = MessageType::kProof,
          .text = Proof(Secret::OfWeirrun(token), End::kAsks, hello, challenge)};
}

TEST_F(Door, BothEndsProve) {
  auto asks = std::async(std::launch::async, [this] {
    return Introduce(Connection(), {.type = MessageType::kHello, .rank = 3, .host = "b"},
                     kDoorSecret, kLong);
  });
  while (guests_.empty()) Turn();
  EXPECT_EQ(guests_[0].hello.rank, 3);
  EXPECT_EQ(guests_[0].hello.host, "b");
  guests_[0].socket.Send({.type = MessageType::kWelcome});
  Introduction met = asks.get();
  ASSERT_TRUE(met.socket) << met.why;
  EXPECT_EQ(met.version, kVersion);
  const auto welcome = Hear(*met.socket);
  ASSERT_TRUE(welcome);
  EXPECT_EQ(welcome->type, MessageType::kWelcome);
  EXPECT_EQ(door_->turned_away(), 0U);
}

TEST_F(Door, AnotherTokenIsTurnedAwayWithoutAProof) {
  const Message hello = Hello();
  MessageSocket stranger = Stranger(hello);
  const auto challenge = Hear(stranger);
  ASSERT_TRUE(challenge);
  Say(stranger, ProofBy("guess", hello, *challenge));
  EXPECT_EQ(Hear(stranger), std::nullopt);
  EXPECT_THAT(guests_, SizeIs(0));
  EXPECT_THAT(told_, ElementsAre(AllOf(StartsWith("turned away a connection from 127.0.0.1:"),
                                       EndsWith(": it does not know the job's token"))));
}

TEST_F(Door, AProofOfAnotherConnectionIsWorthNothing) {
  const Message hello = Hello();
  MessageSocket first = Stranger(hello);
  const auto challenge = Hear(first);
  ASSERT_TRUE(challenge);
  const Message proof = ProofBy("secret", hello, *challenge);
  MessageSocket second = Stranger(hello);
  ASSERT_TRUE(Hear(second));
  Say(second, proof);
  EXPECT_EQ(Hear(second), std::nullopt);
  EXPECT_THAT(guests_, SizeIs(0));
  Say(first, proof);
  EXPECT_THAT(guests_, SizeIs(1));
}

TEST_F(Door, WhatIsNoMessageIsTurnedAway) {
  for (const std::string& bytes : {std::string("GET / HTTP/1.1\r\n\r\n"), std::string(4, '\xff'),
                                   Encode({.type = MessageType::kWelcome}),
                                   Encode({.type = MessageType::kHello, .code = kVersion}),
                                   Encode(Hello()) + Encode(Hello())}) {
    const UniqueFd connection = Taken();
    Say(connection, bytes);
    char byte = 0;
    EXPECT_LE(recv(connection.get(), &byte, 1, MSG_DONTWAIT), 0);
  }
  EXPECT_EQ(door_->turned_away(), 5U);
  EXPECT_THAT(told_, ElementsAre(EndsWith(": it sent what Weir does not send")));
}

TEST_F(Door, WhoShowsNoTokenWithinTenSecondsIsTurnedAway) {
  const UniqueFd silent = Taken();
  const UniqueFd slow = Taken();
  Say(slow, Encode(Hello()).substr(0, 1));
  now_ += kSilence;
  door_->Tick(now_);
  EXPECT_EQ(door_->turned_away(), 0U);
  Say(slow, Encode(Hello()).substr(1, 1));
  now_ += 1ms;
  door_->Tick(now_);
  EXPECT_EQ(door_->turned_away(), 2U);
  EXPECT_THAT(told_, ElementsAre(EndsWith("did not show the job's token within 10 s")));
}

TEST_F(Door, WhereTooManyWaitTheSilentGoFirst) {
  Open(2);
  const Message hello = Hello();
  MessageSocket half_in = Stranger(hello);
  const UniqueFd silent = Taken();
  const UniqueFd one_more = Taken();
  EXPECT_THAT(told_, ElementsAre(HasSubstr("it was one of too many that had not")));
  const auto challenge = Hear(half_in);
  ASSERT_TRUE(challenge);
  Say(half_in, ProofBy("secret", hello, *challenge));
  EXPECT_THAT(guests_, SizeIs(1));
}

TEST_F(Door, WhereDescriptorsRunOutStrangersGoFirst) {
  const UniqueFd silent = Taken();
  const UniqueFd one_more = Connection();
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  rlimit none_left = before;
  none_left.rlim_cur = static_cast<rlim_t>(UniqueFd(dup(listener_.get())).get());
  setrlimit(RLIMIT_NOFILE, &none_left);
  Turn();
  setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_THAT(told_, ElementsAre(HasSubstr("it was one of too many that had not")));
  std::vector<pollfd> waiting;
  door_->AddPolls(waiting);
  EXPECT_THAT(waiting, SizeIs(1));
}

TEST_F(Door, AVersionBeforeProofsIsToldSo) {
  MessageSocket old = Stranger({.type = MessageType::kHello, .code = 8, .text = "secret"});
  const auto answer = Hear(old);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->type, MessageType::kAbort);
  EXPECT_THAT(answer->text, HasSubstr("different versions of Weir"));
  EXPECT_THAT(told_, ElementsAre(EndsWith("it is of another version of Weir")));
}

TEST_F(Door, ALaterVersionLearnsItWithTheProof) {
  Message hello = Hello();
  hello.code = kVersion + 1;
  MessageSocket later = Stranger(hello);
  const auto challenge = Hear(later);
  ASSERT_TRUE(challenge);
  EXPECT_EQ(challenge->code, kVersion);
  Say(later, ProofBy("secret", hello, *challenge));
  const auto proof = Hear(later);
  ASSERT_TRUE(proof);
  EXPECT_TRUE(IsProof(proof->text, kDoorSecret, End::kListens, hello, *challenge));
  EXPECT_THAT(guests_, SizeIs(0));
}

/// Lets somebody connect, answers with `answers` one after the other, and returns what it heard.
std::pair<Introduction, std::vector<Message>> MeetImpostor(const UniqueFd& listener,
                                                           std::vector<Message> answers) {
  auto asks = std::async(std::launch::async, [&] {
    return Introduce(Connect("127.0.0.1:" + std::to_string(PortOf(listener)), kLong),
                     {.type = MessageType::kHello, .rank = 3}, kDoorSecret, kLong);
  });
  pollfd wait{listener.get(), POLLIN, 0};
  poll(&wait, 1, 60000);
  std::vector<Message> heard;
  {
    MessageSocket socket(Accept(listener));
    for (Message& answer : answers) {
      while (socket.open()) {
        std::vector<Message> messages = socket.Receive();
        if (messages.empty()) continue;
        heard.push_back(messages.front());
        break;
      }
      // Its own proof, given back.
      if (answer.text == "reflect") answer.text = heard.back().text;
      socket.Send(answer);
    }
  }
  return {asks.get(), heard};
}

TEST_F(Door, AnImpostorIsNamedAndLearnsNothing) {
  const Message challenge{
      .type = MessageType::kChallenge, .code = kVersion, .text = std::string(kNonceBytes, 'n')};
  const Message guess{.type = MessageType::kProof, .text = std::string(kProofBytes, 'p')};
  for (const Message& proof : {guess, Message{.type = MessageType::kProof, .text = "reflect"}}) {
    const auto [met, heard] = MeetImpostor(listener_, {challenge, proof});
    EXPECT_FALSE(met.socket);
    EXPECT_THAT(met.why, StartsWith("who listens there does not know this job's token"));
    ASSERT_THAT(heard, SizeIs(2));
    for (const Message& message : heard) {
      EXPECT_THAT(message.text, testing::Not(HasSubstr(kDoorSecret.token)));
    }
  }
  const auto [met, heard] = MeetImpostor(listener_, {{.type = MessageType::kWelcome}});
  EXPECT_FALSE(met.socket);
  EXPECT_THAT(met.why, HasSubstr("does not answer as this version of Weir does"));
  EXPECT_THAT(heard, SizeIs(1));
}

TEST(TurnedAway, PeopleHearOfTheFirstAtOnceAndOfOthersOnceAMinute) {
  std::vector<std::string> told;
  TurnedAway away([&](const std::string& text) { told.push_back(text); });
  const TurnedAway::Time start{};
  for (int second = 0; second <= 60; ++second) {
    away.Add("1.2.3.4:" + std::to_string(second), "said nothing",
             start + std::chrono::seconds(second));
  }
  EXPECT_THAT(told, ElementsAre("turned away a connection from 1.2.3.4:0: it said nothing",
                                "turned away 61 connections so far, the last from 1.2.3.4:60: it "
                                "said nothing"));
  away.SumUp();
  EXPECT_THAT(told, SizeIs(2)) << "known already";
  away.Add("1.2.3.4:9", "said nothing", start + 61s);
  away.SumUp();
  away.SumUp();
  EXPECT_THAT(told, SizeIs(3));
  EXPECT_EQ(told.back(), "turned away 62 connections in all");
}

}  // namespace
}  // namespace weir::supervision
