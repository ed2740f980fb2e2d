// The end of a joined rank's wait when not all join; ranks are threads here.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <latch>
#include <string>
#include <thread>

#include "tests/coordinator/jobs/text_of.h"
#include "weir/engine.h"
#include "weir/error.h"

namespace weir::join_ending_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(JoinEnding, ADeadlineEndsAWaitInWhichTheOthersDoNothing) {
  Settings settings;
  settings.stall_shutdown_seconds = 0.1;  // No effect: nobody waits for a tensor.
  settings.timeout_seconds = 0.5;
  std::latch given_up(1);
  RunLocal(
      2,
      [&](Engine& engine) {
        GradientGroupSpec spec;
        spec.tensors = {{.name = "w", .shape = Shape{3}}};
        const auto group = engine.Register(std::move(spec));
        if (engine.rank() == 1) {
          given_up.wait();
          return;
        }
        const std::string error = TextOf<TimedOut>([&] { engine.Join(); });
        given_up.count_down();
        EXPECT_THAT(error, AllOf(HasSubstr("passed its deadline"), HasSubstr("'weir:join'")));
      },
      settings);
}

TEST(JoinEnding, ARankThatEndsTheJobEndsTheWait) {
  RunLocal(3, [](Engine& engine) {
    if (engine.rank() == 0) {
      float value = 1;
      const TensorView view{&value, DType::kFloat32, Shape{}};
      engine.Wait(engine.Allreduce("x", view, view));  // Comes through once the others have joined.
      engine.Abort("enough");
      return;
    }
    EXPECT_THAT(TextOf<PeerLost>([&] { engine.Join(); }), HasSubstr("enough"));
  });
}

TEST(JoinEnding, AGroupThatGoesWhileItsRankHasJoinedEndsTheJobByName) {
  std::latch joined(1), gone(1);
  RunLocal(2, [&](Engine& engine) {
    GradientGroupSpec spec;
    spec.name = "model";
    spec.tensors = {{.name = "w", .shape = Shape{3}}};
    auto group = engine.Register(std::move(spec));
    if (engine.rank() == 1) {
      float value = 1;
      const TensorView view{&value, DType::kFloat32, Shape{}};
      engine.Wait(engine.Allreduce("x", view, view));  // Comes through once rank 0 has joined.
      joined.count_down();
      gone.wait();
      EXPECT_THAT(TextOf<PeerLost>([&] { engine.Join(); }), HasSubstr("'model' was destroyed"));
      return;
    }
    std::jthread collector([&] {
      joined.wait();
      group.reset();
      gone.count_down();
    });
    EXPECT_THAT(TextOf<Error>([&] { engine.Join(); }),
                HasSubstr("'model' was destroyed while its rank had joined"));
  });
}

}  // namespace
}  // namespace weir::join_ending_test
