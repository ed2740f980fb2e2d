#include <gtest/gtest.h>

#include <array>
#include <thread>
#include <vector>

#include "ops/local/transport.h"
#include "weir/error.h"

namespace weir {
namespace {

using Bytes = std::vector<std::byte>;

Bytes BytesOf(std::initializer_list<int> values) {
  Bytes bytes;
  for (const int value : values) bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

class LocalTransport : public testing::Test {
 protected:
  local::Network network_{2};
  std::unique_ptr<Transport> a_ = network_.Endpoint(0);
  std::unique_ptr<Transport> b_ = network_.Endpoint(1);
};

TEST_F(LocalTransport, DeliversWhicheverSideComesFirst) {
  const Bytes message = BytesOf({1, 2, 3});
  Bytes first(3), second(3);
  const auto early = b_->Receive(0, {7, 0}, first);
  EXPECT_FALSE(b_->Test(early));
  const auto sent_first = a_->Send(1, {7, 0}, message);
  const auto sent_second = a_->Send(1, {8, 0}, message);
  EXPECT_EQ(b_->Test(early), 3u);
  const auto late = b_->Receive(0, {8, 0}, second);
  EXPECT_EQ(b_->Test(late), 3u);
  EXPECT_EQ(a_->Test(sent_first), 3u);
  EXPECT_EQ(a_->Test(sent_second), 3u);
  EXPECT_EQ(first, message);
  EXPECT_EQ(second, message);
  EXPECT_EQ(a_->totals().sent_bytes, 6u);
  EXPECT_EQ(b_->totals().received_bytes, 6u);
}

TEST_F(LocalTransport, MatchesByTagAndKeepsOrderWithinATag) {
  const Bytes one = BytesOf({1}), two = BytesOf({2}), three = BytesOf({3});
  a_->Send(1, {5, 0}, one);
  a_->Send(1, {5, 0}, two);
  a_->Send(1, {5, 1}, three);
  Bytes x(1), y(1), z(1);
  const auto other_tag = b_->Receive(0, {5, 1}, z);
  const auto first = b_->Receive(0, {5, 0}, x);
  const auto second = b_->Receive(0, {5, 0}, y);
  EXPECT_TRUE(b_->Test(second));
  EXPECT_TRUE(b_->Test(first));
  EXPECT_TRUE(b_->Test(other_tag));
  EXPECT_EQ(x, one);
  EXPECT_EQ(y, two);
  EXPECT_EQ(z, three);
}

TEST_F(LocalTransport, ReceivesPostedFirstAreFilledFirst) {
  Bytes x(1), y(1);
  const auto first = b_->Receive(0, {5, 0}, x);
  const auto second = b_->Receive(0, {5, 0}, y);
  const Bytes one = BytesOf({1});
  a_->Send(1, {5, 0}, one);
  EXPECT_FALSE(b_->Test(second));
  EXPECT_TRUE(b_->Test(first));
  EXPECT_EQ(x, one);
}

TEST_F(LocalTransport, ShorterAndEmptyMessagesSayTheirLength) {
  const Bytes message = BytesOf({9});
  a_->Send(1, {1, 0}, message);
  a_->Send(1, {2, 0}, {});
  Bytes buffer(10);
  const auto shorter = b_->Receive(0, {1, 0}, buffer);
  const auto empty = b_->Receive(0, {2, 0}, {});
  EXPECT_EQ(b_->Test(shorter), 1u);
  EXPECT_EQ(b_->Test(empty), 0u);
}

TEST_F(LocalTransport, TooLongMessageIsCorruptAndNamesTheSender) {
  const Bytes message(8, std::byte{1});
  const auto sent = a_->Send(1, {1, 0}, message);
  Bytes buffer(4);
  const auto received = b_->Receive(0, {1, 0}, buffer);
  try {
    b_->Test(received);
    FAIL() << "a message of 8 bytes went into 4";
  } catch (const Corrupt& error) {
    EXPECT_EQ(error.context().ranks, std::vector<int>{0});
  }
  EXPECT_EQ(buffer, Bytes(4));
  EXPECT_TRUE(a_->Test(sent));
}

TEST_F(LocalTransport, CancelledSendIsNeverDelivered) {
  const Bytes one = BytesOf({1}), two = BytesOf({2});
  const auto cancelled = a_->Send(1, {1, 0}, one);
  a_->Cancel(cancelled);
  a_->Send(1, {1, 0}, two);
  Bytes buffer(1);
  const auto received = b_->Receive(0, {1, 0}, buffer);
  EXPECT_TRUE(b_->Test(received));
  EXPECT_EQ(buffer, two);
}

TEST_F(LocalTransport, CancelledReceiveLeavesItsBufferAlone) {
  Bytes given_up(1), buffer(1);
  b_->Cancel(b_->Receive(0, {1, 0}, given_up));
  const Bytes one = BytesOf({1});
  a_->Send(1, {1, 0}, one);
  const auto received = b_->Receive(0, {1, 0}, buffer);
  EXPECT_TRUE(b_->Test(received));
  EXPECT_EQ(given_up, Bytes(1));
  EXPECT_EQ(buffer, one);
}

TEST_F(LocalTransport, EndpointThatLeavesTakesItsSendsBack) {
  {
    const Bytes gone = BytesOf({1});
    a_->Send(1, {1, 0}, gone);
    a_.reset();
  }
  Bytes buffer(1);
  const auto received = b_->Receive(0, {1, 0}, buffer);
  EXPECT_FALSE(b_->Test(received));
}

TEST_F(LocalTransport, WakesOnArrivalAndOnCompletionOfASend) {
  int receiver_wakes = 0, sender_wakes = 0;
  EXPECT_TRUE(b_->SetWake([&] { ++receiver_wakes; }));
  EXPECT_TRUE(a_->SetWake([&] { ++sender_wakes; }));
  const Bytes one = BytesOf({1});
  a_->Send(1, {1, 0}, one);
  EXPECT_EQ(receiver_wakes, 1);
  EXPECT_EQ(sender_wakes, 0);
  Bytes buffer(1);
  b_->Receive(0, {1, 0}, buffer);
  EXPECT_EQ(sender_wakes, 1);
  EXPECT_TRUE(b_->SetWake(nullptr));
  a_->Send(1, {1, 0}, one);
  EXPECT_EQ(receiver_wakes, 1);
}

TEST_F(LocalTransport, ManyMessagesBetweenThreadsArriveWholeAndInOrder) {
  constexpr int kMessages = 20000;
  const auto pump = [](Transport& transport, int peer) {
    std::array<std::uint64_t, 4> out{}, in{};
    for (std::uint64_t i = 0; i < kMessages; ++i) {
      out.fill(i);
      const Tag tag{static_cast<std::uint32_t>(i % 3), 0};
      const auto sent = transport.Send(peer, tag, std::as_bytes(std::span(out)));
      const auto received = transport.Receive(peer, tag, std::as_writable_bytes(std::span(in)));
      while (!transport.Test(received)) std::this_thread::yield();
      while (!transport.Test(sent)) std::this_thread::yield();
      for (const std::uint64_t word : in) ASSERT_EQ(word, i);
    }
  };
  std::jthread thread([&] { pump(*b_, 0); });
  pump(*a_, 1);
}

}  // namespace
}  // namespace weir
