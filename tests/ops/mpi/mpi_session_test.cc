#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ops/mpi/session.h"
#include "weir/error.h"

namespace weir::mpi {
namespace {

// One test, since MPI lasts as long as the process.
TEST(MpiSession, FollowsAnotherUnlessThatWasAbandoned) {
  { const Session first; }
  {
    Session second;
    second.Abandon();
  }
  // MPI may still write into what messages of the second were to fill.
  for (int attempt = 0; attempt < 2; ++attempt) {
    EXPECT_THAT([] { const Session third; },
                testing::ThrowsMessage<InvalidArgument>(
                    testing::HasSubstr("an earlier engine of this process failed")));
  }
}

}  // namespace
}  // namespace weir::mpi
