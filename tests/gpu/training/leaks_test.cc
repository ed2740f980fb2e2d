// A long training takes no more memory than at its beginning.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <map>
#include <memory>
#include <vector>

#include "compression/options/registry.h"
#include "tests/coordinator/jobs/job.h"
#include "tests/coordinator/jobs/training.h"
#include "tests/gpu/gradients.h"
#include "tests/gpu/nccl/over_nccl.h"
#include "tests/gpu/program.h"

namespace weir::leaks_test {
namespace {

constexpr int kRanks = 2;
constexpr int kSteps = 10 * kMostSteps + 50;  ///< No rank is at its operation then.
constexpr int kWarmUp = kMostSteps + 50;      ///< By then all has been allocated that is kept.

/// Memory of this process on the host. AddressSanitizer keeps released
/// memory, and finds leaks by itself.
std::int64_t ResidentBytes() {
#ifdef __SANITIZE_ADDRESS__
  return 0;
#endif
  std::ifstream statm("/proc/self/statm");
  std::int64_t size = 0;
  std::int64_t resident = 0;
  statm >> size >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

struct Memory {
  std::size_t free_on_gpu = 0;
  std::int64_t resident = 0;
};
Memory MemoryNow(const Gpu& gpu) {
  const GpuScope scope(gpu);
  return {gpu.api().free_bytes(), ResidentBytes()};
}

/// Steps of one rank: gradients, some compressed and some dense, and an operation beside them. What
/// there was after each of these steps.
std::map<int, Memory> Train(Engine& engine, int device, const CompressionOptions& compression,
                            const std::vector<int>& marks) {
  Program program(device);
  const Shape shapes[] = {Shape{20, 30}, Shape{40}};
  std::vector<std::unique_ptr<ProgramMemory>> gradients;
  GradientGroupSpec spec{.name = "g", .compression = compression};
  for (const Shape& shape : shapes) {
    spec.tensors.push_back(
        {.name = std::to_string(gradients.size()), .shape = shape, .device = {device}});
    const auto n = static_cast<std::size_t>(shape.elements());
    gradients.push_back(std::make_unique<ProgramMemory>(&program, n * sizeof(float)));
    gradients.back()->Write(MakeGradient(Gradients(7).Of(n), DType::kFloat32).bytes);
  }
  const auto group = engine.Register(spec);
  std::map<int, Memory> found;
  // One more: the emulated GPUs count what all ranks have, and nobody leaves while another one
  // looks.
  for (int step = 0; step <= marks.back() + 1; ++step) {
    const float rate = 0.1f;
    group->BeginStep({.learning_rates = {&rate, 1}, .stream = program.stream.handle()});
    for (std::size_t t = 0; t < gradients.size(); ++t) {
      ProgramMemory& gradient = *gradients[t];
      const TensorView view{gradient.data(), DType::kFloat32, shapes[t], gradient.device(),
                            gradient.stream()};
      group->Submit(t, view, view);
    }
    group->EndStep();
    group->WaitStep();
    if (step % 100 == 0) {  // With a result of its own.
      ProgramMemory& in = *gradients[1];
      std::unique_ptr<ProgramMemory> out;
      engine.Wait(engine.Allgather(
          "rows", {in.data(), DType::kFloat32, shapes[1], in.device(), in.stream()},
          [&](const Shape& shape, std::span<const std::int64_t>) {
            const auto n = static_cast<std::size_t>(shape.elements());
            out = std::make_unique<ProgramMemory>(&program, n * sizeof(float));
            return out->data();
          }));
    }
    if (std::ranges::find(marks, step) != marks.end()) found[step] = MemoryNow(program.gpu);
  }
  return found;
}

/// Each rank has a GPU of its own.
void ExpectNoLeak(const CompressionOptions& compression, int ranks, const Settings& settings) {
  const auto found = Results(
      RunLocal, ranks,
      [&](Engine& engine) {
        return Train(engine, engine.rank(), compression, {kWarmUp, kSteps});
      },
      settings);
  const auto& memory = found.begin()->second;
  EXPECT_EQ(memory.at(kSteps).free_on_gpu, memory.at(kWarmUp).free_on_gpu);
  // A word a step would be less than what an allocator keeps; a record of 500 bytes is not.
  constexpr std::int64_t kAllowance = std::int64_t{4} << 20;
  EXPECT_LE(memory.at(kSteps).resident - memory.at(kWarmUp).resident, kAllowance);
}

const CompressionOptions kDgc = {{"compressor", "dgc"},
                                 {"density", "0.05"},
                                 {"momentum_mu", "0.9"},
                                 {"min_elements", "100"},
                                 {"policy", "always"}};

using GpuLeaks = OnGpu<testing::Test>;
using GpuLeaksOverNccl = OnGpuEach<kRanks>;

TEST_F(GpuLeaks, ManyStepsThroughTheHostLeaveNothing) {
  Settings staged = OnTestedGpu();
  staged.gpu_transport = GpuTransport::kMpiStaged;
  ExpectNoLeak(kDgc, 1, staged);
}
TEST_F(GpuLeaksOverNccl, ManyStepsLeaveNothing) { ExpectNoLeak(kDgc, kRanks, OnTestedGpu()); }

}  // namespace
}  // namespace weir::leaks_test
