// A rank leaves while others, outside its process set, take no notice. Between threads only: they
// have to wait for one another in another way than through the engine.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include "weir/engine.h"

namespace weir {
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

}  // namespace
}  // namespace weir
