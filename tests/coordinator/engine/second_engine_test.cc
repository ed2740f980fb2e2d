// A process is one rank: what it does wrong must not be said in the name of the engine that it has.
#include <gtest/gtest.h>

#include <memory>

#include "common/supervision/supervision.h"
#include "tests/ops/membership/fake_supervisor.h"
#include "weir/engine.h"
#include "weir/error.h"

namespace weir {
namespace {

using supervision::MessageType;

TEST(SecondEngine, IsRefusedAndSaysNothingToTheSupervisor) {
  FakeSupervisor supervisor;
  supervisor.SetEnvironment();
  {
    const std::unique_ptr<Engine> engine = Engine::Create({});
    EXPECT_EQ(supervisor.Hear().type, MessageType::kAttach);
    EXPECT_EQ(supervisor.Hear().type, MessageType::kJoined);
    EXPECT_THROW(Engine::Create({}), InvalidArgument);
    EXPECT_TRUE(supervisor.HearsNothing());
  }
  EXPECT_EQ(supervisor.Hear().type, MessageType::kLeave);
  FakeSupervisor::UnsetEnvironment();
}

}  // namespace
}  // namespace weir
