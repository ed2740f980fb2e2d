// The emulated GPU: waits of its threads, and errors that it finds.
#include "tests/emulated_gpu/grid.h"

#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <array>
#include <numeric>
#include <set>
#include <vector>

namespace weir::emulated {
namespace {

TEST(EmulatedGrid, RunsEveryThreadOfEveryBlockOnce) {
  std::vector<int> runs(3 * 70);
  RunGrid(3, 70, [&] { ++runs[blockIdx.x * blockDim.x + threadIdx.x]; });
  EXPECT_EQ(runs, std::vector<int>(runs.size(), 1));
}

TEST(EmulatedGrid, ABarrierIsPassedOnceAllHaveComeToIt) {
  std::array<int, 64> given{};
  std::array<int, 64> sums{};
  RunGrid(1, 64, [&] {
    given[threadIdx.x] = static_cast<int>(threadIdx.x);
    __syncthreads();
    sums[threadIdx.x] = std::accumulate(given.begin(), given.end(), 0);
  });
  for (const int sum : sums) EXPECT_EQ(sum, 63 * 64 / 2);
}

TEST(EmulatedGrid, BallotsAndShufflesAreOfTheWarpAlone) {
  std::array<std::uint32_t, 64> ballots{};
  std::array<unsigned, 64> shuffled{};
  std::array<unsigned, 64> from_below{};
  RunGrid(1, 64, [&] {
    const unsigned t = threadIdx.x;
    ballots[t] = __ballot_sync(~0u, t % 32 < 3 || t == 40);
    shuffled[t] = __shfl_xor_sync(~0u, t, 5);
    from_below[t] = __shfl_up_sync(~0u, t, 2u);
  });
  for (unsigned t = 0; t < 64; ++t) {
    EXPECT_EQ(ballots[t], t < 32 ? 0b111u : 0b1'0000'0111u);
    EXPECT_EQ(shuffled[t], t ^ 5u);
    EXPECT_EQ(from_below[t], t % 32 < 2 ? t : t - 2);
  }
}

TEST(EmulatedGrid, WithoutABarrierTheOrderOfThreadsShows) {
  std::set<int> first_to_come;
  for (int launch = 0; launch < 4; ++launch) {
    int first = -1;
    RunGrid(1, 32, [&] {
      if (first == -1) first = static_cast<int>(threadIdx.x);
    });
    first_to_come.insert(first);
  }
  EXPECT_EQ(first_to_come, (std::set<int>{0, 31}));
}

using EmulatedGridDeathTest = testing::Test;

TEST(EmulatedGridDeathTest, EndsWhereOneWaitsForOneThatNeverComes) {
  EXPECT_DEATH(RunGrid(1, 32,
                       [] {
                         if (threadIdx.x == 0) {
                           __syncthreads();
                         } else {
                           __syncwarp(0xfffffffe);
                           __syncthreads();
                         }
                       }),
               "different barriers");
  EXPECT_DEATH(RunGrid(1, 32,
                       [] {
                         if (threadIdx.x != 7) __ballot_sync(~0u, true);
                       }),
               "a lane that has ended");
  EXPECT_DEATH(RunGrid(1, 32,
                       [] {
                         if (threadIdx.x < 16) {
                           __syncthreads();
                         } else {
                           __ballot_sync(~0u, true);
                         }
                       }),
               "wait for each other");
}

}  // namespace
}  // namespace weir::emulated
