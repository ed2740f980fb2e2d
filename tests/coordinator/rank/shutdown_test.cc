#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <string>
#include <vector>

#include "coordinator/engine/local_job.h"
#include "tests/coordinator/jobs/engine_calls.h"
#include "weir/engine.h"

namespace weir {
namespace {

using testing::HasSubstr;

TEST(Shutdown, FailsWhatIsOutstandingOnEveryRank) {
  LocalJob job(3);
  job.Run([&](Engine& engine) {
    std::vector<float> values(4, 1.0f);
    // No two ranks wait for the same: nothing of it can be agreed on.
    const Handle handle = Reduce(engine, "of rank " + std::to_string(engine.rank()), values);
    if (engine.rank() == 1) engine.Shutdown();
    EXPECT_THAT(ErrorOf([&] { engine.Wait(handle); }), HasSubstr("ShutDown: "));
    EXPECT_EQ(values, std::vector<float>(4, 1.0f)) << "an output that failed is untouched";
    EXPECT_THAT(ErrorOf([&] { Reduce(engine, "after", values); }), HasSubstr("ShutDown: "));
  });
}

TEST(Shutdown, FailsAStepThatIsUnderWayAndTheGroupCanGo) {
  LocalJob job(2);
  std::promise<void> submitted;
  job.Run([&](Engine& engine) {
    const auto group = engine.Register({.name = "g",
                                        .tensors = {{.name = "a", .shape = Shape{40, 40}}},
                                        .compression = {{"compressor", "dgc"}}});
    std::vector<float> values(1600, 1.0f);
    const TensorView view{values.data(), DType::kFloat32, Shape{40, 40}};
    if (engine.rank() == 1) {
      submitted.get_future().wait();
      engine.Shutdown();
      return;
    }
    group->BeginStep({});
    group->Submit(0, view, view);
    group->EndStep();
    submitted.set_value();
    EXPECT_THAT(ErrorOf([&] { group->WaitStep(); }), HasSubstr("ShutDown: "));
    EXPECT_EQ(values.front(), 1.0f);
    EXPECT_THAT(ErrorOf([&] { group->BeginStep({}); }), HasSubstr("ShutDown: "));
  });
}

TEST(Shutdown, OnOneRankFailsWhatTheOthersWaitFor) {
  LocalJob job(3);
  job.Run([&](Engine& engine) {
    std::vector<float> values(4, 1.0f);
    engine.Wait(Reduce(engine, "common", values));
    if (engine.rank() == 0) {
      engine.Shutdown();
      return;
    }
    EXPECT_THAT(ErrorOf([&] { engine.Wait(Reduce(engine, "next", values)); }),
                HasSubstr("ShutDown: Weir has been shut down: rank 0 called Shutdown"));
  });
}

TEST(Shutdown, ReturnsWhenNothingUsesTheNetworkAnyMoreAndRefusesWhatComesAfter) {
  LocalJob job(2);
  job.Run([&](Engine& engine) {
    std::vector<float> values(4, 1.0f);
    engine.Wait(Reduce(engine, "common", values));
    engine.Shutdown();
    engine.Shutdown();
    EXPECT_THAT(ErrorOf([&] { Reduce(engine, "next", values); }), HasSubstr("ShutDown"));
    EXPECT_EQ(engine.network_totals(), engine.network_totals());
  });
}

TEST(Shutdown, OnAllRanksAtOnceAfterwardsEveryCallIsRefused) {
  LocalJob job(3);
  job.Run([&](Engine& engine) {
    std::vector<float> values(4, 1.0f);
    engine.Shutdown();
    EXPECT_THAT(ErrorOf([&] { engine.Wait(Reduce(engine, "late", values)); }),
                HasSubstr("ShutDown: "));
    EXPECT_THAT(ErrorOf([&] {
                  engine.Register({.name = "late", .tensors = {{.name = "a", .shape = Shape{4}}}});
                }),
                HasSubstr("ShutDown: "));
    engine.Abort("too late");  // Nothing is left to end.
  });
}

TEST(Shutdown, AbortingTwiceKeepsTheFirstReason) {
  LocalJob job(2);
  job.Run([&](Engine& engine) {
    std::vector<float> values(4, 1.0f);
    if (engine.rank() == 0) {
      engine.Abort("first");
      engine.Abort("second");
    }
    EXPECT_THAT(ErrorOf([&] { engine.Wait(Reduce(engine, "common", values)); }),
                HasSubstr("first"));
    engine.Shutdown();
  });
}

}  // namespace
}  // namespace weir
