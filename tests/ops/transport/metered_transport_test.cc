#include "ops/transport/metered_transport.h"

#include <gtest/gtest.h>

#include <array>
#include <thread>
#include <vector>

#include "ops/local/transport.h"

namespace weir {
namespace {

constexpr auto kIntra = static_cast<std::size_t>(Link::kIntra);
constexpr auto kInter = static_cast<std::size_t>(Link::kInter);

std::size_t Await(Transport& transport, Transport::Request request) {
  while (true) {
    if (const auto bytes = transport.Test(request)) return *bytes;
    std::this_thread::yield();
  }
}

class MeteredTransportTest : public testing::Test {
 protected:
  MeteredTransportTest() : network_(3), others_{network_.Endpoint(1), network_.Endpoint(2)} {}

  local::Network network_;
  std::array<std::unique_ptr<Transport>, 2> others_;
  std::unique_ptr<Transport> own_ = network_.Endpoint(0);
  LinkBytes first_, reduce_, steps_;
  MeteredTransport metered_{
      *own_, {Link::kIntra, Link::kIntra, Link::kInter}, {.bytes = &first_, .also = nullptr}};
  std::array<std::byte, 64> sent_{}, received_{};
};

TEST_F(MeteredTransportTest, AMessageCountsForWhatItWasStartedForOnItsLink) {
  const auto early = metered_.Send(1, {1, 0}, std::span(sent_).first(5));
  metered_.Begin({.bytes = &reduce_, .also = &steps_});
  const auto late = metered_.Send(2, {1, 0}, std::span(sent_).first(7));
  const auto answer = metered_.Receive(2, {2, 0}, received_);
  const auto said = others_[1]->Send(0, {2, 0}, std::span(sent_).first(11));
  Await(*others_[0], others_[0]->Receive(0, {1, 0}, received_));
  Await(*others_[1], others_[1]->Receive(0, {1, 0}, received_));
  // When they complete is nothing to what they are for.
  metered_.Begin({.bytes = &first_});
  EXPECT_EQ(Await(metered_, late), 7U);
  EXPECT_EQ(Await(metered_, early), 5U);
  EXPECT_EQ(Await(metered_, answer), 11U);
  Await(*others_[1], said);

  EXPECT_EQ(first_.sent[kIntra], 5U);
  EXPECT_EQ(first_.sent[kInter], 0U);
  for (const LinkBytes* counted : {&reduce_, &steps_}) {
    EXPECT_EQ(counted->sent[kInter], 7U);
    EXPECT_EQ(counted->total_sent(), 7U);
    EXPECT_EQ(counted->received[kInter], 11U) << "what came, not what there was room for";
    EXPECT_EQ(counted->received[kIntra], 0U);
  }
}

TEST_F(MeteredTransportTest, WhatHasNotCompletedOrWasCancelledDoesNotCount) {
  const auto cancelled = metered_.Receive(1, {1, 0}, received_);
  EXPECT_FALSE(metered_.Test(cancelled));
  metered_.Cancel(cancelled);
  EXPECT_EQ(first_.received[kIntra], 0U);
  // Its number is taken again, for a message the other way.
  const auto sent = metered_.Send(1, {1, 0}, std::span(sent_).first(3));
  Await(*others_[0], others_[0]->Receive(0, {1, 0}, received_));
  Await(metered_, sent);
  EXPECT_EQ(first_.received[kIntra], 0U);
  EXPECT_EQ(first_.sent[kIntra], 3U);
}

TEST_F(MeteredTransportTest, KnowsFromWhomMessagesAreMissing) {
  using Ranks = std::vector<int>;
  EXPECT_EQ(metered_.Awaited(), Ranks{});
  const auto sent = metered_.Send(2, {1, 0}, std::span(sent_).first(1));
  const auto cancelled = metered_.Receive(1, {1, 0}, received_);
  const auto answer = metered_.Receive(2, {2, 0}, received_);
  EXPECT_EQ(metered_.Awaited(), (Ranks{1, 2}));
  metered_.Cancel(cancelled);
  EXPECT_EQ(metered_.Awaited(), Ranks{2});
  const auto said = others_[1]->Send(0, {2, 0}, std::span(sent_).first(1));
  Await(metered_, answer);
  EXPECT_EQ(metered_.Awaited(), Ranks{});
  Await(*others_[1], said);
  Await(*others_[1], others_[1]->Receive(0, {1, 0}, received_));
  Await(metered_, sent);
}

TEST_F(MeteredTransportTest, KnowsWhenItLastHeardOfAPeer) {
  LastHeard heard;
  heard.SetPeers(3);
  MeteredTransport hears(*own_, {Link::kIntra, Link::kIntra, Link::kInter}, {.bytes = &first_},
                         &heard);
  const auto sent = hears.Send(1, {1, 0}, std::span(sent_).first(1));
  Await(*others_[0], others_[0]->Receive(0, {1, 0}, received_));
  Await(hears, sent);
  EXPECT_EQ(heard.Seconds(1), 0) << "what was sent says nothing";
  const auto said = others_[1]->Send(0, {2, 0}, std::span(sent_).first(1));
  timespec before{};
  clock_gettime(CLOCK_REALTIME_COARSE, &before);
  Await(hears, hears.Receive(2, {2, 0}, received_));
  Await(*others_[1], said);
  EXPECT_GE(heard.Seconds(2), static_cast<double>(before.tv_sec));
  EXPECT_LE(heard.Seconds(2), static_cast<double>(time(nullptr) + 1));
  EXPECT_EQ(heard.Seconds(0), 0);
  EXPECT_EQ(heard.Seconds(1), 0);
}

}  // namespace
}  // namespace weir
