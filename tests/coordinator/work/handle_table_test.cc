#include "coordinator/work/handle_table.h"

#include <gtest/gtest.h>

#include <set>
#include <thread>

#include "weir/error.h"

namespace weir {
namespace {

const HandleTable::Deadline kFar = HandleTable::Deadline::max();

TEST(HandleTable, AWaitReturnsOnceTheOperationIsDoneAndForgetsIt) {
  HandleTable table;
  const Handle handle = table.Create();
  EXPECT_FALSE(table.Poll(handle));
  std::jthread other([&] { table.Complete(handle); });
  EXPECT_EQ(table.Wait(handle, kFar), HandleTable::WaitResult::kDone);
  EXPECT_THROW(table.Wait(handle, kFar), InvalidArgument);
  EXPECT_THROW(table.Poll(handle), InvalidArgument);
}

TEST(HandleTable, AWaitThrowsTheOperationsError) {
  HandleTable table;
  const Handle handle = table.Create();
  table.Complete(handle, std::make_exception_ptr(Mismatch("ranks differ")));
  EXPECT_THROW(table.Wait(handle, kFar), Mismatch);
}

TEST(HandleTable, AnOperationOfSeveralPartsEndsWithTheLast) {
  HandleTable table;
  const Handle handle = table.Create(3);
  const Handle both[] = {handle, handle};
  table.Complete(both);
  EXPECT_FALSE(table.Poll(handle));
  table.Complete(handle);
  EXPECT_EQ(table.Wait(handle, kFar), HandleTable::WaitResult::kDone);
}

TEST(HandleTable, AnOperationOfSeveralPartsEndsWithAnError) {
  HandleTable table;
  const Handle handle = table.Create(3);
  table.Complete(handle, std::make_exception_ptr(Mismatch("ranks differ")));
  table.Complete(handle);
  EXPECT_THROW(table.Wait(handle, kFar), Mismatch);
}

TEST(HandleTable, APassedDeadlineForgetsNothing) {
  HandleTable table;
  const Handle handle = table.Create();
  EXPECT_EQ(table.Wait(handle, std::chrono::steady_clock::now()),
            HandleTable::WaitResult::kDeadlinePassed);
  table.Complete(handle);
  EXPECT_EQ(table.Wait(handle, kFar), HandleTable::WaitResult::kDone);
}

TEST(HandleTable, HandlesAreNotReused) {
  HandleTable table;
  std::set<Handle> seen;
  for (int i = 0; i < 1000; ++i) {
    const Handle handle = table.Create();
    EXPECT_TRUE(seen.insert(handle).second);
    table.Complete(handle);
    table.Wait(handle, kFar);
  }
}

TEST(HandleTable, FailAllEndsEveryPendingWaitAndLeavesFulfilledOnesAlone) {
  HandleTable table;
  const Handle done = table.Create();
  const Handle pending = table.Create();
  table.Complete(done);
  table.FailAll(std::make_exception_ptr(ShutDown("over")));
  EXPECT_EQ(table.Wait(done, kFar), HandleTable::WaitResult::kDone);
  EXPECT_THROW(table.Wait(pending, kFar), ShutDown);
}

}  // namespace
}  // namespace weir
