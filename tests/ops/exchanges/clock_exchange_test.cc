// Comparison of clocks, over a network whose delays and clocks are made up.
#include "ops/exchanges/clock_exchange.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <vector>

#include "weir/error.h"

namespace weir {
namespace {

constexpr std::uint32_t kOperation = 3;

/// Time, and what is on the way in it.
struct World {
  struct Message {
    int from;
    int to;
    std::int64_t arrives_ns;
    std::vector<std::byte> data;
  };
  std::int64_t now_ns = 0;
  std::function<std::int64_t(int from, int to)> delay_ns;
  std::vector<Message> messages;
};

class MadeUpTransport final : public Transport {
 public:
  MadeUpTransport(World& world, int rank, int size) : world_(world), rank_(rank), size_(size) {}

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  std::uint32_t operation_numbers() const override { return 1024; }
  NetworkTotals totals() const override { return {}; }

  Request Send(int peer, Tag tag, std::span<const std::byte> data) override {
    EXPECT_EQ(tag.operation, kOperation);
    const std::int64_t arrives = world_.now_ns + world_.delay_ns(rank_, peer);
    world_.messages.push_back({rank_, peer, arrives, {data.begin(), data.end()}});
    return Add({});
  }
  Request Receive(int peer, Tag /*tag*/, std::span<std::byte> buffer) override {
    return Add({.from = peer, .buffer = buffer});
  }
  std::optional<std::size_t> Test(Request request) override {
    const Open open = open_.at(request);
    if (open.from < 0) return Forget(request, 0);
    const auto message = std::ranges::find_if(world_.messages, [&](const World::Message& sent) {
      return sent.from == open.from && sent.to == rank_ && sent.arrives_ns <= world_.now_ns;
    });
    if (message == world_.messages.end()) return std::nullopt;
    const std::size_t bytes = std::min(message->data.size(), open.buffer.size());
    if (bytes > 0) std::memcpy(open.buffer.data(), message->data.data(), bytes);
    world_.messages.erase(message);
    return Forget(request, bytes);
  }
  void Cancel(Request request) override { open_.erase(request); }
  std::size_t open() const { return open_.size(); }

 private:
  struct Open {
    int from = -1;  // Sender of a receive.
    std::span<std::byte> buffer{};
  };
  Request Add(const Open& open) {
    open_.emplace(++last_, open);
    return last_;
  }
  std::size_t Forget(Request request, std::size_t bytes) {
    open_.erase(request);
    return bytes;
  }

  World& world_;
  const int rank_;
  const int size_;
  Request last_ = 0;
  std::map<Request, Open> open_;
};

/// Ranks whose clocks differ from the world's by `skews_ns`.
class ClockExchangeTest : public testing::Test {
 protected:
  void MakeRanks(const std::vector<std::int64_t>& skews_ns) {
    skews_ns_ = skews_ns;
    const auto size = static_cast<int>(skews_ns.size());
    for (int rank = 0; rank < size; ++rank) {
      transports_.push_back(std::make_unique<MadeUpTransport>(world_, rank, size));
      exchanges_.push_back(std::make_unique<ClockExchange>(
          *transports_.back(), kOperation,
          [this, rank] { return world_.now_ns + skews_ns_[static_cast<std::size_t>(rank)]; }));
      exchanges_.back()->Start();
    }
  }
  /// Until all are done; a rank looks every `pause_ns()`.
  void Run(const std::function<std::int64_t()>& pause_ns) {
    std::vector<std::int64_t> due(exchanges_.size());
    for (int left = 1'000'000; left > 0; --left) {
      const auto next = std::ranges::min_element(due);
      const auto rank = static_cast<std::size_t>(next - due.begin());
      world_.now_ns = *next;
      exchanges_[rank]->Poll();
      *next += pause_ns();
      if (std::ranges::all_of(exchanges_, [](const auto& one) { return one->done(); })) return;
    }
    FAIL() << "the clocks are not compared";
  }
  std::int64_t TruthOf(std::size_t rank) const { return skews_ns_[0] - skews_ns_[rank]; }

  World world_;
  std::vector<std::int64_t> skews_ns_;
  std::vector<std::unique_ptr<MadeUpTransport>> transports_;
  std::vector<std::unique_ptr<ClockExchange>> exchanges_;
};

TEST_F(ClockExchangeTest, TheTruthLiesWithinTheStatedError) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  const auto up_to = [&](std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(1, most)(random);
  };
  // Each direction of each pair is slow in its own way, and now and then something is late.
  std::vector<std::int64_t> usual(64);
  for (auto& delay : usual) delay = up_to(500'000);
  world_.delay_ns = [&](int from, int to) {
    const auto pair = static_cast<std::size_t>(from) * 8 + static_cast<std::size_t>(to);
    return usual[pair] + up_to(50'000) + (up_to(10) == 1 ? up_to(20'000'000) : 0);
  };
  MakeRanks({up_to(1'000'000'000'000), 0, up_to(1'000'000'000'000), 5, -up_to(1'000'000'000), 7});
  Run([&] { return up_to(30'000); });
  for (std::size_t rank = 1; rank < exchanges_.size(); ++rank) {
    const JobClock& found = exchanges_[rank]->job_clock();
    EXPECT_LE(std::abs(found.offset_ns - TruthOf(rank)), found.error_ns) << "rank " << rank;
    EXPECT_LE(found.error_ns, 1'000'000) << "late messages count no more than the others";
    const JobClock& of_rank_0 = exchanges_[0]->job_clock();
    EXPECT_EQ(found.began_ns, of_rank_0.began_ns);
    EXPECT_EQ(found.unix_time_at_0_ns, of_rank_0.unix_time_at_0_ns);
    EXPECT_GT(found.unix_time_at_0_ns, 0);
  }
}

TEST_F(ClockExchangeTest, TheShortestRoundTripCounts) {
  int trip = 0;
  world_.delay_ns = [&](int from, int /*to*/) -> std::int64_t {
    if (from == 1) ++trip;
    if (trip == 5) return 1'000;
    return from == 1 ? 90'000 : 10'000;  // A long way there: these would say 40 us too much.
  };
  MakeRanks({7'000'000, 2'000'000});
  Run([] { return 10; });
  EXPECT_EQ(trip, ClockExchange::kTrips);
  EXPECT_NEAR(static_cast<double>(exchanges_[1]->job_clock().offset_ns), 5'000'000, 20);
  EXPECT_NEAR(static_cast<double>(exchanges_[1]->job_clock().error_ns), 1'000, 20);
}

TEST_F(ClockExchangeTest, TheErrorOfALopsidedWayIsAllOfIt) {
  world_.delay_ns = [](int from, int /*to*/) -> std::int64_t { return from == 1 ? 100'000 : 0; };
  MakeRanks({0, 0});
  Run([] { return 10; });
  EXPECT_NEAR(static_cast<double>(exchanges_[1]->job_clock().offset_ns), 50'000, 20);
  EXPECT_GE(exchanges_[1]->job_clock().error_ns, exchanges_[1]->job_clock().offset_ns);
}

TEST_F(ClockExchangeTest, RankZeroIsTheMeasure) {
  world_.delay_ns = [](int, int) -> std::int64_t { return 1'000; };
  MakeRanks({123, 456});
  Run([] { return 10; });
  EXPECT_EQ(exchanges_[0]->job_clock().offset_ns, 0);
  EXPECT_EQ(exchanges_[0]->job_clock().error_ns, 0);
  for (const auto& transport : transports_) EXPECT_EQ(transport->open(), 0u);
  EXPECT_TRUE(world_.messages.empty());
}

TEST_F(ClockExchangeTest, AJobOfOneRankIsDoneAtOnce) {
  MakeRanks({5});
  EXPECT_TRUE(exchanges_[0]->Poll());
}

TEST_F(ClockExchangeTest, GivenUpItLeavesNothingUnderWay) {
  world_.delay_ns = [](int, int) -> std::int64_t { return 1'000; };
  MakeRanks({0, 0, 0});
  for (const auto& exchange : exchanges_) exchange->Poll();
  for (const auto& exchange : exchanges_) exchange->Cancel();
  for (const auto& transport : transports_) EXPECT_EQ(transport->open(), 0u);
}

TEST_F(ClockExchangeTest, AnAnswerOfAnotherLengthIsCorrupt) {
  world_.delay_ns = [](int, int) -> std::int64_t { return 0; };
  MadeUpTransport zero(world_, 0, 2);
  MadeUpTransport one(world_, 1, 2);
  ClockExchange exchange(one, kOperation);
  exchange.Start();
  zero.Send(1, {kOperation, 0}, std::as_bytes(std::span("short", 5)));
  EXPECT_THROW(exchange.Poll(), Corrupt);
  exchange.Cancel();
}

}  // namespace
}  // namespace weir
