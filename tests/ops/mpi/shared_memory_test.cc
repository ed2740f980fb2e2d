#include "ops/mpi/shared_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir::mpi {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

TEST(SharedMemory, EnoughIsNothingToSay) {
  EXPECT_EQ(SharedMemoryShortage(64 * kMiB, 64 * kMiB, 8), "");
  EXPECT_EQ(SharedMemoryShortage(64 * kMiB, 25 * kMiB, 8), "") << "others of the job came first";
}

TEST(SharedMemory, TooLittleIsSaidWithTheSizeThatIsNeeded) {
  EXPECT_THAT(SharedMemoryShortage(4 * kMiB, 4 * kMiB, 2),
              AllOf(HasSubstr("/dev/shm has 4 MiB"), HasSubstr("needs 23 MiB"),
                    HasSubstr("the 2 ranks of this host"), HasSubstr("WEIR_TRANSPORT=ucx")));
  EXPECT_THAT(SharedMemoryShortage(64 * kMiB, 2 * kMiB, 2), HasSubstr("of which 2 MiB are free"));
}

}  // namespace
}  // namespace weir::mpi
