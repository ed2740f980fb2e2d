// The engine's view of a GPU (common/gpu/gpu.h, gpu_memory.h, gpu_stream.h).
#include "common/gpu/gpu.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <climits>
#include <cstring>
#include <stdexcept>
#include <utility>
#include <vector>

#include "common/gpu/gpu_memory.h"
#include "common/gpu/gpu_stream.h"
#include "tests/gpu/tested_gpu.h"

namespace weir {
namespace {

class GpuTest : public OnGpu<testing::Test> {
 protected:
  static int LastDevice() { return TestedDevice(INT_MAX).gpu; }
};

TEST_F(GpuTest, IsCurrentWithinAScope) {
  const Gpu gpu(TestedGpuLibrary(), LastDevice());
  api().make_current(0);
  {
    const GpuScope scope(gpu);
    EXPECT_EQ(api().current_device(), gpu.device());
  }
  EXPECT_EQ(api().current_device(), 0);
}

TEST_F(GpuTest, CopiesInItsStreamsWhateverIsCurrent) {
  const Gpu gpu(TestedGpuLibrary(), LastDevice());
  api().make_current(0);
  GpuStream stream(gpu);
  const GpuMemory memory(gpu, GpuMemory::Kind::kDevice, 12);
  GpuMemory pinned(gpu, GpuMemory::Kind::kPinned, 12);
  std::memcpy(pinned.data(), "hello world", 12);
  stream.Copy(memory.data(), pinned.data(), 12);
  stream.Await();
  std::memset(pinned.data(), 0, 12);
  stream.Copy(pinned.data(), memory.data(), 12);
  stream.Await();
  EXPECT_STREQ(reinterpret_cast<const char*>(pinned.data()), "hello world");
  EXPECT_EQ(api().current_device(), 0);
}

TEST_F(GpuTest, StreamsBelongToIt) {
  const Gpu gpu(TestedGpuLibrary(), LastDevice());
  if (gpu.device() == 0) GTEST_SKIP() << "this takes two GPUs";
  api().make_current(0);
  const GpuStream stream(gpu);
  const Gpu other(TestedGpuLibrary(), 0);
  GpuEvent event(other);
  EXPECT_THROW(event.Record(stream.handle()), std::runtime_error);
}

TEST_F(GpuTest, AStreamWaitsForAnEventOfAnotherOne) {
  const Gpu gpu(TestedGpuLibrary(), 0);
  GpuStream first(gpu);
  GpuStream second(gpu);
  GpuEvent event(gpu);
  const GpuMemory memory(gpu, GpuMemory::Kind::kDevice, 4);
  GpuMemory from(gpu, GpuMemory::Kind::kPinned, 4);
  GpuMemory to(gpu, GpuMemory::Kind::kPinned, 4);
  std::memset(to.data(), 0, 4);
  std::memset(from.data(), 7, 4);
  first.Copy(memory.data(), from.data(), 4);
  event.Record(first.handle());
  second.WaitFor(event);
  second.Copy(to.data(), memory.data(), 4);
  second.Await();
  EXPECT_EQ(std::memcmp(to.data(), from.data(), 4), 0);
}

TEST_F(GpuTest, MemoryCanBeMoved) {
  const Gpu gpu(TestedGpuLibrary(), 0);
  GpuMemory first(gpu, GpuMemory::Kind::kDevice, 100);
  std::byte* const place = first.data();
  GpuMemory second;
  second = std::move(first);
  EXPECT_EQ(second.data(), place);
  EXPECT_EQ(second.size(), 100u);
  second = GpuMemory();
  EXPECT_EQ(second.data(), nullptr);
}

TEST_F(GpuTest, SaysWhatCudaSays) {
  try {
    api().make_current(99);
    FAIL() << "there are so many GPUs";
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("CUDA says: invalid device ordinal"));
  }
}

}  // namespace
}  // namespace weir
