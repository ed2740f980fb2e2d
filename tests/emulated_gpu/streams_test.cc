// The emulated GPU's streams and memory: work is done when somebody waits for it, and no earlier.
#include "tests/emulated_gpu/streams.h"

#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <vector>

namespace weir::emulated {
namespace {

class EmulatedStreams : public testing::Test {
 protected:
  void SetUp() override {
    cudaSetDevice(0);
    cudaStreamCreateWithPriority(&first_, cudaStreamNonBlocking, 0);
    cudaStreamCreateWithPriority(&second_, cudaStreamNonBlocking, 0);
    cudaEventCreateWithFlags(&event_, cudaEventDisableTiming);
  }
  void TearDown() override {
    cudaSetDevice(0);
    cudaEventDestroy(event_);
    cudaStreamDestroy(first_);
    cudaStreamDestroy(second_);
  }

  cudaStream_t first_ = nullptr;
  cudaStream_t second_ = nullptr;
  cudaEvent_t event_ = nullptr;
};

TEST_F(EmulatedStreams, DoNothingUntilSomebodyWaits) {
  int to = 0;
  int from = 1;
  cudaMemcpyAsync(&to, &from, sizeof to, cudaMemcpyDefault, first_);
  EXPECT_EQ(to, 0);
  from = 2;  // Too early.
  cudaStreamSynchronize(second_);
  EXPECT_EQ(to, 0);
  cudaStreamSynchronize(first_);
  EXPECT_EQ(to, 2);
}

TEST_F(EmulatedStreams, AnEventStandsForWhatCameBeforeIt) {
  int to[2] = {};
  const int from = 1;
  cudaMemcpyAsync(&to[0], &from, sizeof from, cudaMemcpyDefault, first_);
  cudaEventRecord(event_, first_);
  cudaMemcpyAsync(&to[1], &from, sizeof from, cudaMemcpyDefault, first_);
  cudaStreamWaitEvent(second_, event_);
  cudaStreamSynchronize(second_);
  EXPECT_EQ(to[0], 1);
  EXPECT_EQ(to[1], 0);
  cudaEventSynchronize(event_);
  EXPECT_EQ(to[1], 0);
  cudaStreamSynchronize(first_);
  EXPECT_EQ(to[1], 1);
}

TEST_F(EmulatedStreams, BelongToTheDeviceOnWhichTheyWereMade) {
  int to = 0;
  const int from = 1;
  cudaSetDevice(1);
  EXPECT_EQ(cudaMemcpyAsync(&to, &from, sizeof to, cudaMemcpyDefault, first_),
            cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaEventRecord(event_, nullptr), cudaErrorInvalidResourceHandle);
}

#if !defined(__SANITIZE_ADDRESS__)

using EmulatedMemoryDeathTest = testing::Test;

TEST(EmulatedMemoryDeathTest, IsNotTheHosts) {
  void* memory = nullptr;
  ASSERT_EQ(cudaMalloc(&memory, 100), cudaSuccess);
  int value = 5;
  ASSERT_EQ(cudaMemcpy(memory, &value, sizeof value, cudaMemcpyDefault), cudaSuccess);
  EXPECT_DEATH(*static_cast<volatile int*>(memory) = 1, "");
  EXPECT_DEATH(value += *static_cast<volatile int*>(memory), "");
  ASSERT_EQ(cudaMemcpy(&value, memory, sizeof value, cudaMemcpyDefault), cudaSuccess);
  EXPECT_EQ(value, 5);
  cudaFree(memory);
}

TEST(EmulatedMemory, IsGivenAgainOnceItIsReleased) {
  std::vector<void*> all;
  std::set<void*> places;
  for (int round = 0; round < 3; ++round) {
    for (std::size_t i = 1; i < 20; ++i) {
      void* memory = nullptr;
      ASSERT_EQ(cudaMalloc(&memory, i * 100), cudaSuccess) << round << " " << i;
      all.push_back(memory);
    }
    places.insert(all.begin(), all.end());
    for (void* const memory : all) cudaFree(memory);
    all.clear();
  }
  EXPECT_EQ(places.size(), 19u);
}

#endif

}  // namespace
}  // namespace weir::emulated
