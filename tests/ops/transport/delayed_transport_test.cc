#include "tests/ops/transport/delayed_transport.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "ops/local/transport.h"
#include "tests/ops/collectives/collective_cases.h"
#include "tests/ops/collectives/run_ranks.h"

namespace weir {
namespace {

using Clock = VirtualNetwork::Clock;
using std::chrono::milliseconds;

constexpr VirtualNetwork::Link kMegabytePerSecond{.bytes_per_second = 1e6,
                                                  .latency = milliseconds(5)};

TEST(VirtualNetwork, MessageTakesItsLengthAndTheLatency) {
  VirtualNetwork network(2, kMegabytePerSecond);
  const auto before = Clock::now();
  const auto left = network.Send(0, 1, {1, 0}, 10000);
  EXPECT_GE(left - before, milliseconds(10));
  EXPECT_EQ(network.Receive(0, 1, {1, 0}), left + milliseconds(5));
}

TEST(VirtualNetwork, MessagesOnOneWireFollowEachOther) {
  VirtualNetwork network(3, kMegabytePerSecond);
  const auto first = network.Send(0, 1, {1, 0}, 10000);
  const auto second = network.Send(0, 2, {1, 0}, 10000);
  EXPECT_EQ(second - first, milliseconds(10));
}

TEST(VirtualNetwork, SendersShareTheReceiversWire) {
  VirtualNetwork network(3, kMegabytePerSecond);
  network.Send(0, 2, {1, 0}, 10000);
  network.Send(1, 2, {1, 0}, 10000);
  const auto first = network.Receive(0, 2, {1, 0});
  const auto second = network.Receive(1, 2, {1, 0});
  EXPECT_EQ(second - first, milliseconds(10));
}

TEST(VirtualNetwork, DirectionsAreIndependent) {
  VirtualNetwork network(2, kMegabytePerSecond);
  const auto there = network.Send(0, 1, {1, 0}, 100000);
  const auto back = network.Send(1, 0, {1, 0}, 1000);
  EXPECT_LT(back, there);
}

TEST(VirtualNetwork, JitterIsDrawnFromTheSeed) {
  const auto jitters = [](std::uint32_t seed) {
    VirtualNetwork::Link link = kMegabytePerSecond;
    link.jitter = milliseconds(3);
    link.seed = seed;
    VirtualNetwork network(2, link);
    std::vector<Clock::duration> found;
    for (std::uint32_t message = 0; message < 50; ++message) {
      const auto left = network.Send(0, 1, {message, 0}, 100);
      found.push_back(network.Receive(0, 1, {message, 0}) - left - link.latency);
      EXPECT_GE(found.back(), milliseconds(0));
      EXPECT_LE(found.back(), link.jitter);
    }
    return found;
  };
  EXPECT_EQ(jitters(1), jitters(1));
  EXPECT_NE(jitters(1), jitters(2));
}

TEST(DelayedTransport, CompletesWhenTheNetworkSaysSo) {
  const auto network = std::make_shared<VirtualNetwork>(2, kMegabytePerSecond);
  local::Network local(2);
  DelayedTransport a(local.Endpoint(0), network), b(local.Endpoint(1), network);
  std::vector<std::byte> out(20000, std::byte{7}), in(20000);
  const auto before = Clock::now();
  const auto receive = b.Receive(0, {1, 0}, in);
  const auto send = a.Send(1, {1, 0}, out);
  while (!b.Test(receive)) std::this_thread::yield();
  EXPECT_GE(Clock::now() - before, milliseconds(25));
  EXPECT_TRUE(a.Test(send));
  EXPECT_EQ(in, out);
}

TEST(DelayedTransport, SaysWhenTimeAloneCompletesAMessage) {
  const auto network = std::make_shared<VirtualNetwork>(2, kMegabytePerSecond);
  local::Network local(2);
  DelayedTransport a(local.Endpoint(0), network), b(local.Endpoint(1), network);
  int wakes = 0;
  EXPECT_TRUE(b.SetWake([&] { ++wakes; }));
  std::vector<std::byte> out(20000, std::byte{7}), in(20000);
  const auto receive = b.Receive(0, {1, 0}, in);
  EXPECT_EQ(b.next_due_ns(), 0);
  const auto before = Clock::now();
  const auto send = a.Send(1, {1, 0}, out);
  EXPECT_EQ(wakes, 1);
  EXPECT_FALSE(b.Test(receive));
  const Clock::time_point due{std::chrono::nanoseconds(b.next_due_ns())};
  EXPECT_GE(due - before, milliseconds(25));
  while (!b.Test(receive)) std::this_thread::yield();
  EXPECT_GE(Clock::now(), due);
  EXPECT_EQ(b.next_due_ns(), 0);
  while (!a.Test(send)) std::this_thread::yield();
}

TEST(DelayedTransport, CarriesCollectives) {
  const auto network =
      std::make_shared<VirtualNetwork>(3, VirtualNetwork::Link{.bytes_per_second = 1e9});
  const auto delay = [&](std::unique_ptr<Transport> transport) {
    return std::make_unique<DelayedTransport>(std::move(transport), network);
  };
  RunRanks(3, cases::Reuse, delay);
  RunRanks(3, cases::ManyAtOnce, delay);
  RunRanks(3, cases::Adasums, delay);
  RunRanks(3, cases::GroupedAllgathers, delay);
}

}  // namespace
}  // namespace weir
