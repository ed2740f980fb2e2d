#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "weir/engine.h"

namespace weir::collectives_test {
namespace {

class Collectives : public testing::TestWithParam<int> {
 protected:
  int ranks() const { return GetParam(); }
};

TEST_P(Collectives, AllreduceAveragesOverAllRanks) {
  RunLocal(ranks(), [&](Engine& engine) {
    std::vector<float> values(1000, static_cast<float>(engine.rank()));
    const TensorView view = ViewOf(std::span<float>(values));
    engine.Wait(engine.Allreduce("x", view, view));
    const float expected = static_cast<float>(engine.size() - 1) / 2.0f;
    EXPECT_TRUE(std::ranges::all_of(values, [&](float v) { return v == expected; }));
  });
}

TEST_P(Collectives, TheSameNameCanBeUsedAgainAndAgain) {
  RunLocal(ranks(), [&](Engine& engine) {
    for (int step = 0; step < 50; ++step) {
      std::vector<std::int32_t> values = {step, engine.rank()};
      const TensorView view = ViewOf(std::span<std::int32_t>(values));
      engine.Wait(engine.Allreduce("x", view, view, {.op = ReduceOp::kSum}));
      EXPECT_EQ(values[0], step * engine.size());
      EXPECT_EQ(values[1], engine.size() * (engine.size() - 1) / 2);
    }
  });
}

TEST_P(Collectives, RanksMaySubmitInDifferentOrders) {
  constexpr int kTensors = 40;
  RunLocal(ranks(), [&](Engine& engine) {
    std::vector<std::vector<double>> values(kTensors);
    std::vector<int> order(kTensors);
    std::iota(order.begin(), order.end(), 0);
    std::mt19937 random(static_cast<unsigned>(engine.rank()) + 1);
    for (int step = 0; step < 5; ++step) {
      std::ranges::shuffle(order, random);
      std::vector<Handle> handles;
      for (const int i : order) {
        values[static_cast<std::size_t>(i)].assign(7, i + step);
        const TensorView view = ViewOf(std::span<double>(values[static_cast<std::size_t>(i)]));
        handles.push_back(
            engine.Allreduce("tensor " + std::to_string(i), view, view, {.op = ReduceOp::kSum}));
      }
      for (const Handle handle : handles) engine.Wait(handle);
      for (int i = 0; i < kTensors; ++i) {
        EXPECT_EQ(values[static_cast<std::size_t>(i)][3], (i + step) * engine.size());
      }
    }
  });
}

TEST_P(Collectives, AllgatherTakesDifferentFirstDimensions) {
  RunLocal(ranks(), [&](Engine& engine) {
    for (int step = 0; step < 3; ++step) {
      const int rows = engine.rank() + step;
      const std::vector<std::int64_t> mine(static_cast<std::size_t>(rows) * 2, engine.rank());
      std::vector<std::int64_t> all;
      Shape shape;
      engine.Wait(engine.Allgather("rows", {mine.data(), DType::kInt64, Shape{rows, 2}},
                                   [&](const Shape& s, auto) {
                                     shape = s;
                                     all.resize(static_cast<std::size_t>(s.elements()));
                                     return all.data();
                                   }));
      std::vector<std::int64_t> expected;
      for (int r = 0; r < engine.size(); ++r) {
        expected.insert(expected.end(), static_cast<std::size_t>(r + step) * 2, r);
      }
      EXPECT_EQ(all, expected);
      EXPECT_EQ(shape[1], 2);
    }
  });
}

TEST_P(Collectives, BroadcastCopiesTheRootsTensor) {
  RunLocal(ranks(), [&](Engine& engine) {
    const int root = engine.size() - 1;
    std::vector<std::uint8_t> values(3000, static_cast<std::uint8_t>(engine.rank()));
    engine.Wait(engine.Broadcast("b", ViewOf(std::span<std::uint8_t>(values)), root));
    EXPECT_TRUE(std::ranges::all_of(values, [&](std::uint8_t v) { return v == root; }));
  });
}

TEST_P(Collectives, NobodyLeavesABarrierBeforeAllHaveCome) {
  std::atomic<int> arrived = 0;
  RunLocal(ranks(), [&](Engine& engine) {
    for (int round = 1; round <= 20; ++round) {
      ++arrived;
      engine.Wait(engine.Barrier());
      EXPECT_GE(arrived.load(), round * engine.size());
    }
  });
}

TEST_P(Collectives, AMismatchNamesTensorRanksAndValuesOnEveryRankAndTheNextOperationWorks) {
  if (ranks() == 1) return;  // One rank cannot disagree.
  RunLocal(ranks(), [&](Engine& engine) {
    const bool odd_one = engine.rank() == engine.size() - 1;
    std::vector<float> values(odd_one ? 4 : 3, 1.0f);
    const TensorView view = ViewOf(std::span<float>(values));
    const Handle handle = engine.Allreduce("grad", view, view);
    try {
      engine.Wait(handle);
      ADD_FAILURE() << "no Mismatch on rank " << engine.rank();
    } catch (const Mismatch& error) {
      const std::string last = std::to_string(engine.size() - 1);
      EXPECT_EQ(
          std::string(error.what()),
          "Mismatched ALLREDUCE tensor shapes: One rank sent a tensor of shape [3], but another "
          "rank sent a tensor of shape [4]. (tensor 'grad': rank 0 has [3], rank " +
              last + " has [4])");
      EXPECT_EQ(error.context().tensor, "grad");
    }
    values.assign(3, 2.0f);
    const TensorView again = ViewOf(std::span<float>(values));
    engine.Wait(engine.Allreduce("grad", again, again));
    EXPECT_EQ(values[0], 2.0f);
  });
}

TEST_P(Collectives, AShapeMayChangeWhenAllRanksChangeIt) {
  RunLocal(ranks(), [&](Engine& engine) {
    for (std::size_t n = 1; n < 20; ++n) {
      std::vector<float> values(n, 1.0f);
      const TensorView view = ViewOf(std::span<float>(values));
      engine.Wait(engine.Allreduce("grows", view, view, {.op = ReduceOp::kSum}));
      EXPECT_EQ(values[n - 1], static_cast<float>(engine.size()));
    }
  });
}

TEST_P(Collectives, ANameInFlightIsRefusedAtOnce) {
  RunLocal(ranks(), [&](Engine& engine) {
    std::vector<float> values(8, 1.0f);
    const TensorView view = ViewOf(std::span<float>(values));
    const Handle first = engine.Allreduce("twice", view, view);
    // Other ranks wait for rank 0, so its operation cannot have ended.
    if (engine.size() > 1) {
      engine.Wait(engine.Barrier("all have submitted once"));
    }
    engine.Wait(first);
    if (engine.rank() == 0 && engine.size() > 1) {
      const Handle alone = engine.Allreduce("twice", view, view);
      EXPECT_THROW(engine.Allreduce("twice", view, view), InvalidArgument);
      engine.Wait(engine.Barrier("go on"));
      engine.Wait(alone);
    } else if (engine.size() > 1) {
      engine.Wait(engine.Barrier("go on"));
      engine.Wait(engine.Allreduce("twice", view, view));
    }
  });
}

TEST_P(Collectives, AnUnfulfillableRequestIsRefusedWhereItIsMade) {
  RunLocal(ranks(), [&](Engine& engine) {
    std::vector<float> values(8, 1.0f);
    const TensorView view = ViewOf(std::span<float>(values));
    EXPECT_THROW(engine.Allreduce("", view, view), InvalidArgument);
    EXPECT_THROW(engine.Allreduce("weir:x", view, view), InvalidArgument);
    EXPECT_THROW(engine.Barrier("weir:join"), InvalidArgument);
    EXPECT_THROW(engine.Allreduce("x", {nullptr, DType::kFloat32, Shape{8}}, view),
                 InvalidArgument);
    EXPECT_THROW(engine.Allreduce("x", view, {values.data(), DType::kFloat32, Shape{4}}),
                 InvalidArgument);
    EXPECT_THROW(engine.Broadcast("x", view, engine.size()), InvalidArgument);
    EXPECT_THROW(engine.Broadcast("x", {values.data(), static_cast<DType>(77), Shape{8}}, 0),
                 InvalidArgument);
    EXPECT_THROW(engine.Allreduce("x", view, view, {.op = static_cast<ReduceOp>(6)}),
                 InvalidArgument);
    EXPECT_THROW(engine.Allgather("x", view, nullptr), InvalidArgument);
    EXPECT_THROW(engine.Wait(12345), InvalidArgument);
  });
}

TEST_P(Collectives, TheNetworkTotalsCountWhatWasCarried) {
  RunLocal(ranks(), [&](Engine& engine) {
    std::vector<float> values(1 << 18, 1.0f);
    const TensorView view = ViewOf(std::span<float>(values));
    const NetworkTotals before = engine.network_totals();
    engine.Wait(engine.Allreduce("x", view, view));
    const NetworkTotals after = engine.network_totals();
    // A rank sends the other ranks' parts, and the result of its own to each of them.
    const auto others = static_cast<std::uint64_t>(engine.size() - 1);
    const std::uint64_t part = view.bytes() / static_cast<std::uint64_t>(engine.size());
    const std::uint64_t least = 2 * others * part - others * 128;
    EXPECT_GE(after.sent_bytes - before.sent_bytes, least);
    EXPECT_LE(after.sent_bytes - before.sent_bytes, least + 8192);
    EXPECT_GE(after.sent_messages - before.sent_messages, 2 * others);
  });
}

TEST_P(Collectives, TheNetworkTotalsTellDataFromTheRoundsThatAgreedOnThem) {
  RunLocal(ranks(), [&](Engine& engine) {
    std::vector<float> values(4, 1.0f);
    const TensorView view = ViewOf(std::span<float>(values));
    const auto data_of = [&](const std::function<void()>& work) {
      const NetworkTotals before = engine.network_totals();
      work();
      const NetworkTotals after = engine.network_totals();
      EXPECT_EQ(after.negotiation_bytes > before.negotiation_bytes, engine.size() > 1);
      return (after.sent_bytes - before.sent_bytes) -
             (after.negotiation_bytes - before.negotiation_bytes);
    };
    engine.Wait(engine.Barrier());  // Before the first operation ranks compare their clocks.
    EXPECT_EQ(data_of([&] { engine.Wait(engine.Barrier()); }), 0u);
    // So small an array goes whole to every other rank.
    const auto others = static_cast<std::uint64_t>(engine.size() - 1);
    EXPECT_EQ(data_of([&] { engine.Wait(engine.Allreduce("x", view, view)); }),
              others * view.bytes());
  });
}

TEST_P(Collectives, AnOwnerIsHeldUntilItsOperationIsDoneAndNoLonger) {
  RunLocal(ranks(), [&](Engine& engine) {
    auto values = std::make_shared<std::vector<float>>(1000, 2.0f);
    const std::weak_ptr<std::vector<float>> watch = values;
    std::vector<float> result(1000);
    const Handle handle = engine.Allreduce("owned", ViewOf(std::span<const float>(*values)),
                                           ViewOf(std::span<float>(result)), {.owner = values});
    values.reset();
    engine.Wait(handle);
    EXPECT_EQ(result[999], 2.0f);
    EXPECT_TRUE(watch.expired());
  });
}

TEST_P(Collectives, SeveralThreadsMaySubmit) {
  RunLocal(ranks(), [&](Engine& engine) {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&engine, t] {
        for (int i = 0; i < 20; ++i) {
          std::vector<float> values(16, static_cast<float>(i));
          const TensorView view = ViewOf(std::span<float>(values));
          engine.Wait(engine.Allreduce("thread " + std::to_string(t), view, view));
          EXPECT_EQ(values[7], static_cast<float>(i));
        }
      });
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, Collectives, testing::Values(1, 2, 3, 4, 8),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace weir::collectives_test
