// Ranks that leave or end the job while others wait in process sets, and the network's
// limits. Between threads only: ranks must wait for one another outside the engine, and
// the network is made to measure.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <memory>
#include <vector>

#include "coordinator/engine/local_job.h"
#include "ops/transport/subset_transport.h"
#include "tests/ops/transport/delayed_transport.h"
#include "tests/ops/transport/forwarding_transport.h"
#include "weir/engine.h"

namespace weir::process_set_ending_test {
namespace {

TEST(ProcessSetLeaving, WhoWaitsInASetIsToldAtOnceThatAnotherHasLeft) {
  std::promise<void> told;
  RunLocal(3, [&](Engine& engine) {
    const int id = engine.AddProcessSet(std::vector<int>{0, 1});
    if (engine.rank() == 0) return;  // Leaves.
    if (engine.rank() == 2) return told.get_future().wait();
    float value = 1.0f;
    const TensorView view{&value, DType::kFloat32, Shape{1}};
    const auto reduce = [&] {
      engine.Wait(engine.Allreduce("x", view, view, {.process_set = id}));
    };
    const auto says =
        testing::HasSubstr("rank 0 has left the job; nothing more of process set 1 is agreed on");
    EXPECT_THAT(reduce, testing::ThrowsMessage<ShutDown>(says));
    EXPECT_THAT(reduce, testing::ThrowsMessage<ShutDown>(says)) << "and what comes later";
    told.set_value();
  });
}

/// The news goes on from set to set, also where they share one rank only.
TEST(ProcessSetLeaving, ReachesTheEndOfAChainOfSets) {
  std::promise<void> told;
  RunLocal(4, [&](Engine& engine) {
    const int near = engine.AddProcessSet(std::vector<int>{0, 1});
    const int far = engine.AddProcessSet(std::vector<int>{1, 2});
    if (engine.rank() == 0) return;  // Leaves.
    if (engine.rank() == 3) return told.get_future().wait();
    float value = 1.0f;
    const TensorView view{&value, DType::kFloat32, Shape{1}};
    const int id = engine.rank() == 1 ? near : far;
    EXPECT_THROW(engine.Wait(engine.Allreduce("x", view, view, {.process_set = id})), ShutDown);
    if (engine.rank() == 2) told.set_value();
  });
}

TEST(ProcessSetLeaving, AnAbortFailsWhatWaitsInEverySetAndNamesTheSet) {
  std::promise<void> submitted;
  RunLocal(3, [&](Engine& engine) {
    const int first = engine.AddProcessSet(std::vector<int>{0, 1});
    const int second = engine.AddProcessSet(std::vector<int>{1, 2});
    if (engine.rank() == 0) {
      submitted.get_future().wait();
      return engine.Abort("enough");
    }
    if (engine.rank() == 2) {
      const auto wait = [&] { engine.Wait(engine.Barrier()); };
      EXPECT_THAT(wait, testing::ThrowsMessage<PeerLost>(testing::HasSubstr("enough")));
      return;
    }
    std::vector<float> values(2, 1.0f);
    const auto submit = [&](std::size_t i, int set) {
      const TensorView view{&values[i], DType::kFloat32, Shape{1}};
      return engine.Allreduce("x", view, view, {.process_set = set});
    };
    const Handle in_first = submit(0, first), in_second = submit(1, second);
    submitted.set_value();
    for (const Handle handle : {in_first, in_second}) {
      EXPECT_THAT([&] { engine.Wait(handle); },
                  testing::ThrowsMessage<PeerLost>(testing::AllOf(
                      testing::HasSubstr("enough"),
                      testing::HasSubstr("(phase negotiate of 'x' of process set 1)"))));
    }
  });
}

/// A network whose numbers of operations are enough for two sets.
class NarrowTransport final : public ForwardingTransport {
 public:
  using ForwardingTransport::ForwardingTransport;
  // The job's own, two for sets, and that of servers.
  std::uint32_t operation_numbers() const override { return 4 * SubsetTransport::kLaneNumbers; }
};

TEST(ProcessSetLanes, AreUsedAgainAndWhereNoneIsLeftThatIsSaid) {
  LocalJob job(4, [](int, std::unique_ptr<Transport> direct) {
    return std::make_unique<NarrowTransport>(std::move(direct));
  });
  job.Run([](Engine& engine) {
    const auto add = [&](std::vector<int> ranks) { return engine.AddProcessSet(ranks); };
    int first = add({0, 1, 2});
    const int second = add({1, 2, 3});
    EXPECT_THAT(
        [&] {
          add({0, 3});
        },
        testing::ThrowsMessage<InvalidArgument>(testing::HasSubstr(
            "there are 2 process sets already, and this network can tell no more apart")));
    for (int round = 0; round < 10; ++round) {
      for (const int set : {first, second}) {
        if (engine.rank() == (set == first ? 3 : 0)) continue;
        std::vector<float> values(3000, 1.0f);
        const TensorView view = ViewOf(std::span<float>(values));
        engine.Wait(engine.Allreduce("x", view, view, {.op = ReduceOp::kSum, .process_set = set}));
        EXPECT_THAT(values, testing::Each(3.0f));
      }
      engine.RemoveProcessSet(first);
      first = add({0, 1, 2});  // On the lane of the one before.
    }
  });
}

/// Messages of a set that is gone are not taken for those of its successor on the lane, however
/// late the network delivers them.
TEST(ProcessSetLanes, MayBeUsedAgainAtOnceOverANetworkThatDeliversLate) {
  const auto network = std::make_shared<VirtualNetwork>(
      3, VirtualNetwork::Link{.bytes_per_second = 1e8, .latency = std::chrono::microseconds(500)});
  LocalJob job(3, [&](int, std::unique_ptr<Transport> direct) {
    return std::make_unique<DelayedTransport>(std::move(direct), network);
  });
  job.Run([](Engine& engine) {
    for (int round = 0; round < 10; ++round) {
      const std::vector<int> ranks = {round % 3, (round + 1) % 3};
      const int set = engine.AddProcessSet(ranks);
      if (engine.rank() != (round + 2) % 3) {
        std::vector<float> values(1000, static_cast<float>(round));
        const TensorView view = ViewOf(std::span<float>(values));
        engine.Wait(engine.Allreduce("x", view, view, {.op = ReduceOp::kSum, .process_set = set}));
        EXPECT_THAT(values, testing::Each(2.0f * static_cast<float>(round)));
      }
      engine.RemoveProcessSet(set);
    }
  });
}

}  // namespace
}  // namespace weir::process_set_ending_test
