#include "ops/hub/hub.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "common/supervision/addresses.h"
#include "common/supervision/rank_totals.h"

namespace weir {
namespace {

using namespace std::chrono_literals;
using supervision::Message;
using supervision::MessageType;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

/// A hub of four ranks and what it has sent.
class HubTest : public testing::Test {
 protected:
  struct Sent {
    int to;
    Message message;
  };

  HubTest() {
    for (int rank = 0; rank < 4; ++rank) hub_.OnHello(rank, rank < 2 ? "a" : "b");
    sent_.clear();
  }
  void Say(int rank, MessageType type, const std::string& text = {}) {
    hub_.OnMessage(rank, {.type = type, .text = text}, now_);
  }
  void AttachAll() {
    for (int rank = 0; rank < 4; ++rank) Say(rank, MessageType::kAttach);
  }
  std::vector<int> Receivers(MessageType type) const {
    std::vector<int> ranks;
    for (const Sent& sent : sent_) {
      if (sent.message.type == type) ranks.push_back(sent.to);
    }
    return ranks;
  }

  Hub::Time now_{1000s};
  std::vector<Sent> sent_;
  Hub hub_{4, 30s, [this](int to, const Message& message) { sent_.push_back({to, message}); }};
};

TEST_F(HubTest, WhoComesIsWelcomed) {
  hub_.OnHello(2, "b");
  ASSERT_EQ(sent_.size(), 1U);
  EXPECT_EQ(sent_[0].to, 2);
  EXPECT_EQ(sent_[0].message.type, MessageType::kWelcome);
}

TEST_F(HubTest, AddressesGoToAllOnceAllHaveCome) {
  AttachAll();
  for (int rank = 0; rank < 3; ++rank) Say(rank, MessageType::kAddress, std::to_string(rank));
  EXPECT_THAT(sent_, IsEmpty());
  Say(3, MessageType::kAddress, "3");
  EXPECT_EQ(Receivers(MessageType::kAddresses), (std::vector{0, 1, 2, 3}));
  std::vector<std::string> addresses;
  supervision::AppendAddresses(sent_[1].message.text, 4, addresses);
  EXPECT_EQ(addresses, (std::vector<std::string>{"0", "1", "2", "3"}));
}

TEST_F(HubTest, ADeathIsToldToWhoHasAnEngine) {
  AttachAll();
  Say(0, MessageType::kLeave);
  hub_.OnLost(2, "its process has ended");
  EXPECT_EQ(Receivers(MessageType::kPeerLost), (std::vector{1, 3}));
  EXPECT_EQ(sent_[0].message.rank, 2);
  EXPECT_EQ(sent_[0].message.host, "b");
  EXPECT_EQ(sent_[0].message.text, "its process has ended");
}

TEST_F(HubTest, ADeathIsToldToWhoComesLater) {
  Say(2, MessageType::kAttach);
  hub_.OnLost(2, "its process has ended");
  Say(0, MessageType::kAttach);
  EXPECT_EQ(Receivers(MessageType::kPeerLost), std::vector{0});
  hub_.OnHello(2, "b");
  Say(1, MessageType::kAttach);
  EXPECT_EQ(Receivers(MessageType::kPeerLost), std::vector{0}) << "rank 2 has come again";
}

TEST_F(HubTest, WhoHasLeftIsNotMissed) {
  AttachAll();
  Say(2, MessageType::kLeave);
  hub_.OnLost(2, "its process has ended");
  EXPECT_THAT(sent_, IsEmpty());
}

TEST_F(HubTest, ItsEndIsTheEndOfWhoWaits) {
  EXPECT_TRUE(hub_.idle());
  AttachAll();
  for (int rank = 0; rank < 3; ++rank) Say(rank, MessageType::kLeave);
  EXPECT_FALSE(hub_.idle());
  hub_.OnLost(3, "its process has ended");
  EXPECT_TRUE(hub_.idle());
}

TEST_F(HubTest, TheAbsentAreNamedWhenTheTimeIsOver) {
  Say(1, MessageType::kAttach);
  now_ += 10s;
  Say(0, MessageType::kAttach);
  EXPECT_EQ(hub_.deadline(), Hub::Time(1030s));
  hub_.Tick(now_ + 19s);
  EXPECT_THAT(sent_, IsEmpty());
  hub_.Tick(now_ + 20s);
  EXPECT_EQ(Receivers(MessageType::kAbort), (std::vector{0, 1}));
  EXPECT_EQ(sent_[0].message.rank, -1);
  EXPECT_THAT(sent_[0].message.text, HasSubstr("ranks 2-3 did not join the job"));
  EXPECT_THAT(sent_[0].message.text, HasSubstr("within the start timeout of 30 s"));
  EXPECT_EQ(hub_.deadline(), std::nullopt);
}

TEST_F(HubTest, OneAbsentRankIsNamedAlone) {
  for (const int rank : {0, 1, 3}) Say(rank, MessageType::kAttach);
  hub_.Tick(now_ + 30s);
  EXPECT_THAT(sent_.at(0).message.text, HasSubstr("rank 2 did not join"));
}

TEST_F(HubTest, RanksThatCannotReachEachOtherAreToldSo) {
  AttachAll();
  Say(0, MessageType::kJoined);
  hub_.Tick(now_ + 30s);
  EXPECT_EQ(Receivers(MessageType::kAbort), (std::vector{1, 2, 3}));
  EXPECT_THAT(sent_[0].message.text, HasSubstr("have all come but did not meet"));
}

TEST_F(HubTest, AJobThatHasMetHasNoDeadline) {
  AttachAll();
  for (int rank = 0; rank < 4; ++rank) Say(rank, MessageType::kJoined);
  EXPECT_EQ(hub_.deadline(), std::nullopt);
}

TEST_F(HubTest, WhoEndsTheJobIsNamedToTheOthers) {
  AttachAll();
  Say(3, MessageType::kAbort, "no data");
  EXPECT_EQ(Receivers(MessageType::kAbort), (std::vector{0, 1, 2}));
  EXPECT_EQ(sent_[0].message.rank, 3);
  EXPECT_EQ(sent_[0].message.host, "b");
  EXPECT_EQ(sent_[0].message.text, "no data");
}

TEST_F(HubTest, StatusGoesToRankZero) {
  AttachAll();
  Say(2, MessageType::kStatusRequest);
  EXPECT_EQ(Receivers(MessageType::kStatusRequest), (std::vector{0, 1, 2, 3}));
  Say(1, MessageType::kStatus, "waits");
  EXPECT_EQ(Receivers(MessageType::kStatus), std::vector{0});
  EXPECT_EQ(sent_.back().message.rank, 1);
}

TEST_F(HubTest, ASecondMeetingIsAsGoodAsTheFirst) {
  for (int meeting = 0; meeting < 2; ++meeting) {
    sent_.clear();
    AttachAll();
    for (int rank = 0; rank < 4; ++rank) Say(rank, MessageType::kAddress, "x");
    EXPECT_EQ(Receivers(MessageType::kAddresses).size(), 4U);
    for (int rank = 0; rank < 4; ++rank) Say(rank, MessageType::kLeave);
  }
}

std::string Steps(int count) {
  RankTotals totals;
  for (int i = 0; i < count; ++i) totals.durations.Add(10'000'000);
  totals.duration_ns = 10'000'000 * count;
  return ToText(totals);
}

TEST_F(HubTest, SumsTheJobUp) {
  EXPECT_THAT(hub_.SummaryText(), IsEmpty()) << "nobody has taken a step";
  AttachAll();
  for (int rank = 0; rank < 4; ++rank) Say(rank, MessageType::kTotals, Steps(3));
  const std::vector<std::string> lines = hub_.SummaryText();
  ASSERT_FALSE(lines.empty());
  EXPECT_THAT(lines.front(), HasSubstr("3 steps: 10 ms each"));
  EXPECT_THAT(lines.back(), HasSubstr("on a"));
}

TEST_F(HubTest, NamesRanksThatHaveNotReported) {
  AttachAll();
  for (int rank = 0; rank < 3; ++rank) Say(rank, MessageType::kTotals, Steps(3));
  EXPECT_THAT(hub_.SummaryText(), Contains(HasSubstr("rank 3 on b did not report its steps")));
}

}  // namespace
}  // namespace weir
