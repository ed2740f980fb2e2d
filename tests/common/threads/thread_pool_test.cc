#include "common/threads/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <numeric>
#include <stdexcept>
#include <thread>
#include <vector>

namespace weir {
namespace {

TEST(ThreadPool, RunsEveryPartOnce) {
  for (int threads : {1, 2, 4}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.threads(), threads);
    for (int parts : {0, 1, 2, 3, 100}) {
      std::vector<std::atomic<int>> runs(static_cast<std::size_t>(parts));
      pool.ParallelFor(parts, [&](int part) { ++runs[static_cast<std::size_t>(part)]; });
      for (const auto& count : runs) EXPECT_EQ(count, 1);
    }
  }
}

TEST(ThreadPool, PartsRunAtTheSameTime) {
  ThreadPool pool(3);
  std::latch all_three(3);
  pool.ParallelFor(3, [&](int) { all_three.arrive_and_wait(); });
}

TEST(ThreadPool, LoopsOfSeveralCallersDoNotMix) {
  ThreadPool pool(3);
  std::vector<long> sums(4);
  {
    std::vector<std::jthread> callers;
    for (std::size_t caller = 0; caller < sums.size(); ++caller) {
      callers.emplace_back([&, caller] {
        for (int round = 0; round < 200; ++round) {
          std::vector<int> parts(16);
          pool.ParallelFor(16, [&](int part) { parts[static_cast<std::size_t>(part)] = part; });
          sums[caller] += std::accumulate(parts.begin(), parts.end(), 0L);
        }
      });
    }
  }
  for (long sum : sums) EXPECT_EQ(sum, 200 * 120);
}

TEST(ThreadPool, RethrowsAfterAllPartsHaveRun) {
  for (int threads : {1, 2}) {
    ThreadPool pool(threads);
    std::atomic<int> runs = 0;
    const auto loop = [&] {
      pool.ParallelFor(10, [&](int part) {
        ++runs;
        if (part == 3) throw std::runtime_error("part 3");
      });
    };
    EXPECT_THROW(loop(), std::runtime_error);
    EXPECT_EQ(runs, 10);
    pool.ParallelFor(2, [&](int) { ++runs; });
    EXPECT_EQ(runs, 12);
  }
}

}  // namespace
}  // namespace weir
