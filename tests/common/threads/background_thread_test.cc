#include "common/threads/background_thread.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "common/threads/thread_pool.h"

namespace weir {
namespace {

TEST(BackgroundThread, AnOrdinaryThreadNeverTakesABusyCore) {
  int policy = -1;
  std::thread([&] {
    WorkInBackground();
    policy = sched_getscheduler(0);
  }).join();
  EXPECT_EQ(policy, SCHED_BATCH);
  EXPECT_EQ(sched_getscheduler(0), SCHED_OTHER) << "another thread's policy changed";
}

TEST(BackgroundThread, APolicyThatTheProgramChoseStays) {
  int policy = -1;
  std::thread([&] {
    const sched_param none{};
    ASSERT_EQ(sched_setscheduler(0, SCHED_IDLE, &none), 0);
    WorkInBackground();
    policy = sched_getscheduler(0);
  }).join();
  EXPECT_EQ(policy, SCHED_IDLE);
}

TEST(BackgroundThread, ThreadsOfAPoolAreSome) {
  ThreadPool pool(2);
  const auto caller = std::this_thread::get_id();
  std::atomic<int> policy = -1;
  pool.ParallelFor(2, [&](int) {
    if (std::this_thread::get_id() != caller) {
      policy = sched_getscheduler(0);
      policy.notify_one();
    } else {
      policy.wait(-1);
    }
  });
  EXPECT_EQ(policy, SCHED_BATCH);
  EXPECT_EQ(sched_getscheduler(0), SCHED_OTHER);
}

}  // namespace
}  // namespace weir
