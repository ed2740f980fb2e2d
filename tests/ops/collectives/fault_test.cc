// Messages of the wrong length: every collective notices, names the sender, and
// can be cancelled and used again.
#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <numeric>
#include <optional>
#include <vector>

#include "ops/collectives/adasum.h"
#include "ops/collectives/allgather.h"
#include "ops/collectives/allreduce.h"
#include "ops/collectives/alltoall.h"
#include "ops/collectives/and_reduce.h"
#include "ops/collectives/broadcast.h"
#include "ops/collectives/reduce_scatter.h"
#include "ops/exchanges/broadcast_bytes.h"
#include "ops/exchanges/frame_exchange.h"
#include "ops/exchanges/gather_to_root.h"
#include "tests/ops/collectives/run_ranks.h"
#include "tests/ops/transport/faulty_transport.h"
#include "weir/error.h"

namespace weir {
namespace {

constexpr std::uint32_t kDamaged = 5;
constexpr std::uint32_t kHealthy = 6;

/// Damages what rank `from` sends in operation kDamaged.
WrapTransport DamageWhatItSends(int from, Fault fault) {
  return [=](std::unique_ptr<Transport> transport) {
    const bool faulty = transport->rank() == from;
    const auto rule = [=](int, Tag tag, std::span<const std::byte>) {
      FaultyTransport::Damage damage;
      if (faulty && tag.operation == kDamaged) damage.fault = fault;
      return damage;
    };
    return std::make_unique<FaultyTransport>(std::move(transport), rule);
  };
}

/// Runs the collective with damaged messages, which some rank must call Corrupt and blame on rank
/// `from`; then once more without damage.
class Damage {
 public:
  explicit Damage(int from) : from_(from) {}

  void ExpectNoticed(Collective& collective) {
    try {
      collective.Start(kDamaged);
      while (!noticed_) {
        if (collective.Poll()) std::this_thread::yield();
      }
    } catch (const Corrupt& error) {
      EXPECT_EQ(error.context().ranks, std::vector<int>{from_}) << error.what();
      noticed_ = true;
    }
    collective.Cancel();
    both_.arrive_and_wait();
    RunCollective(collective, kHealthy);
  }

 private:
  int from_;
  std::atomic<bool> noticed_ = false;
  std::barrier<> both_{2};
};

class WrongLength : public testing::TestWithParam<Fault> {
 protected:
  void RunFrom(int from, const std::function<void(Transport&, Damage&)>& body) {
    Damage damage(from);
    RunRanks(
        2, [&](Transport& transport) { body(transport, damage); },
        DamageWhatItSends(from, GetParam()));
  }
};

class WrongKnownLength : public WrongLength {};
class TooLong : public WrongLength {};

TEST_P(WrongKnownLength, SmallAllreduce) {
  RunFrom(0, [](Transport& transport, Damage& damage) {
    Allreduce allreduce(transport);
    std::vector<float> values(10, 1.0f), sum(10);
    damage.ExpectNoticed(allreduce.Bind(values.data(), sum.data(), 10, DType::kFloat32));
    EXPECT_EQ(sum, std::vector<float>(10, 2.0f));
  });
}

TEST_P(WrongKnownLength, LargeAllreduce) {
  RunFrom(0, [](Transport& transport, Damage& damage) {
    constexpr std::size_t kElements = 100000;
    Allreduce allreduce(transport);
    allreduce.set_chunk_bytes(4096);
    std::vector<float> values(kElements, 1.0f), sum(kElements);
    damage.ExpectNoticed(allreduce.Bind(values.data(), sum.data(), kElements, DType::kFloat32));
    EXPECT_EQ(sum, std::vector<float>(kElements, 2.0f));
  });
}

TEST_P(WrongKnownLength, Allgather) {
  RunFrom(0, [](Transport& transport, Damage& damage) {
    Allgather allgather(transport);
    const std::vector<std::size_t> lengths = {10, 10};
    const std::vector<std::byte> in(10, std::byte{3});
    std::vector<std::byte> out(20);
    allgather.Bind(in, out, lengths);
    damage.ExpectNoticed(allgather);
    EXPECT_EQ(out, std::vector<std::byte>(20, std::byte{3}));
  });
}

TEST_P(WrongKnownLength, Adasum) {
  RunFrom(0, [](Transport& transport, Damage& damage) {
    Adasum adasum(transport);
    std::vector<float> values(10, 1.0f);
    const Array array{values.data(), values.data(), 10, DType::kFloat32};
    adasum.Bind({&array, 1}, {.op = ReduceOp::kAdasum});
    damage.ExpectNoticed(adasum);
    EXPECT_EQ(values, std::vector<float>(10, 1.0f));
  });
}

TEST_P(WrongKnownLength, Alltoall) {
  RunFrom(0, [](Transport& transport, Damage& damage) {
    Alltoall alltoall(transport);
    const std::vector<std::size_t> lengths = {10, 10};
    const std::vector<std::byte> in(20, std::byte{3});
    std::vector<std::byte> out(20);
    alltoall.Bind(in, lengths, out, lengths);
    damage.ExpectNoticed(alltoall);
    EXPECT_EQ(out, in);
  });
}

TEST_P(WrongKnownLength, ReduceScatter) {
  RunFrom(0, [](Transport& transport, Damage& damage) {
    constexpr std::size_t kElements = 100000;
    ReduceScatter scatter(transport);
    scatter.set_chunk_bytes(4096);
    const std::vector<float> values(kElements, 1.0f);
    std::vector<float> sum(kElements / 2);
    scatter.Bind({.in = reinterpret_cast<const std::byte*>(values.data()),
                  .out = reinterpret_cast<std::byte*>(sum.data()),
                  .elements = kElements},
                 std::vector<std::size_t>{0, kElements / 2, kElements});
    damage.ExpectNoticed(scatter);
    EXPECT_EQ(sum, std::vector<float>(kElements / 2, 2.0f));
  });
}

TEST_P(WrongKnownLength, Broadcast) {
  RunFrom(1, [](Transport& transport, Damage& damage) {
    Broadcast broadcast(transport);
    std::vector<std::byte> data(10, static_cast<std::byte>(transport.rank()));
    broadcast.Bind(data, 1);
    damage.ExpectNoticed(broadcast);
    EXPECT_EQ(data, std::vector<std::byte>(10, std::byte{1}));
  });
}

TEST_P(WrongKnownLength, AndReduce) {
  RunFrom(0, [](Transport& transport, Damage& damage) {
    AndReduce reduce(transport);
    std::vector<std::uint64_t> words = {transport.rank() == 0 ? 3u : 6u};
    reduce.Bind(words);
    damage.ExpectNoticed(reduce);
    EXPECT_EQ(words[0], 2u);
  });
}

TEST_P(TooLong, FrameExchange) {
  RunFrom(0, [](Transport& transport, Damage& damage) {
    FrameExchange exchange(transport, 10);
    const std::vector<std::byte> frame(10, std::byte{3});
    exchange.Bind(frame);
    damage.ExpectNoticed(exchange);
    EXPECT_EQ(exchange.frames()[0].size(), 10u);
  });
}

TEST_P(TooLong, GatherToRoot) {
  RunFrom(1, [](Transport& transport, Damage& damage) {
    GatherToRoot gather(transport, 10);
    const std::vector<std::byte> message(10, std::byte{3});
    gather.Bind(message);
    damage.ExpectNoticed(gather);
  });
}

TEST_P(TooLong, BroadcastBytes) {
  RunFrom(0, [](Transport& transport, Damage& damage) {
    BroadcastBytes broadcast(transport, 10);
    const std::vector<std::byte> message(10, std::byte{3});
    broadcast.Bind(message);
    damage.ExpectNoticed(broadcast);
    EXPECT_EQ(broadcast.message().size(), 10u);
  });
}

INSTANTIATE_TEST_SUITE_P(Fault, WrongKnownLength,
                         testing::Values(Fault::kTruncate, Fault::kLengthen),
                         [](const auto& fault) {
                           return fault.param == Fault::kTruncate ? "Truncated" : "Lengthened";
                         });
INSTANTIATE_TEST_SUITE_P(Fault, TooLong, testing::Values(Fault::kLengthen),
                         [](const auto&) { return "Lengthened"; });

TEST(CancelledAllreduce, LeavesItsBuffersAlone) {
  RunRanks(2, [](Transport& transport) {
    if (transport.rank() == 1) return;  // never takes part
    Allreduce allreduce(transport);
    allreduce.set_chunk_bytes(4096);
    std::vector<float> values(100000);
    std::iota(values.begin(), values.end(), 0.0f);
    const std::vector<float> before = values;
    Collective& run = allreduce.Bind(values.data(), values.data(), 100000, DType::kFloat32);
    run.Start(1);
    EXPECT_FALSE(run.Poll());
    run.Cancel();
    EXPECT_EQ(values, before);
  });
}

}  // namespace
}  // namespace weir
