#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "weir/engine.h"

namespace weir {
namespace {

template <typename Call>
bool ThrowsShutDown(const Call& call) {
  try {
    call();
  } catch (const ShutDown&) {
    return true;
  }
  return false;
}

// Data-loader workers fork: their copy of the engine must refuse to work and must not hang.
TEST(Fork, AChildsEngineRefusesToWorkAndGoesWithoutHanging) {
  pid_t child = -1;
  const pid_t parent = getpid();
  RunLocal(1, [&](Engine& engine) {
    auto group = engine.Register({.name = "g", .tensors = {{.name = "a", .shape = Shape{4}}}});
    child = fork();
    if (child == 0) {
      if (!ThrowsShutDown([&] { group->BeginStep({}); })) _exit(2);
      group.reset();
      std::vector<float> values(4);
      const TensorView view = ViewOf(std::span<float>(values));
      if (!ThrowsShutDown([&] { engine.Allreduce("x", view, view); })) _exit(1);
      // The end of the child does this; the engine's threads exist in the parent only.
      engine.~Engine();
      _exit(0);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 0);
    std::vector<float> values(4, 3.0f);
    const TensorView view = ViewOf(std::span<float>(values));
    engine.Wait(engine.Allreduce("x", view, view));
  });
  EXPECT_EQ(getpid(), parent);
}

}  // namespace
}  // namespace weir
