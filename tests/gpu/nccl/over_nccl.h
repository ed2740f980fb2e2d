#pragma once

#include <gtest/gtest.h>

#include <string>

#include "ops/nccl/library.h"
#include "tests/gpu/tested_gpu.h"

namespace weir {

/// A fixture for tests in which each of so many ranks has a GPU of
/// its own, with NCCL between them.
template <int kRanks>
class OnGpuEach : public OnGpu<testing::Test> {
 protected:
  void SetUp() override {
    OnGpu::SetUp();
    if (IsSkipped()) return;
    std::string trouble;
    const int gpus = api().count_devices(trouble);
    if (gpus < kRanks) GTEST_SKIP() << "there are " << gpus << " GPUs, and NCCL takes one a rank";
    const auto nccl = nccl::Library::Load(OnTestedGpu().nccl_library);
    if (nccl.api() == nullptr) GTEST_SKIP() << nccl.trouble();
  }
};

}  // namespace weir
