// Gradients whose ranks have a GPU each: over NCCL, with the bits of the CPU.
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <string>
#include <vector>

#include "tests/coordinator/jobs/job.h"
#include "tests/gpu/gradients.h"
#include "tests/gpu/nccl/over_nccl.h"
#include "tests/gpu/program.h"
#include "tests/gpu/tested_gpu.h"
#include "tests/gpu/training/gpu_training.h"

namespace weir::nccl_training_test {
namespace {

// Two: what two ranks' numbers add up to does not depend on their order.
constexpr int kRanks = 2;

Device OwnGpu(int rank, std::size_t) { return {rank}; }

std::vector<GpuTraining::Tensor> Tensors() {
  return {{"w", Shape{300, 311}},  // Large enough to stay where it lies.
          {"b", Shape{37}},
          {"half", Shape{5, 77}, DType::kFloat16},
          {"brain", Shape{3, 100}, DType::kBFloat16},
          {"v", Shape{70, 3}}};
}

const CompressionOptions kDgc = {{"compressor", "dgc"},  {"density", "0.02"},
                                 {"momentum_mu", "0.9"}, {"min_elements", "100"},
                                 {"policy", "always"},   {"warmup_steps", "5"}};

const CompressionOptions kTopK = {
    {"compressor", "topk"}, {"density", "0.02"}, {"min_elements", "100"}, {"ef", "vanilla"}};
const CompressionOptions kHalf = {{"compressor", "fp16"}};
const CompressionOptions kRandomK = {
    {"compressor", "randomk"}, {"density", "0.05"}, {"min_elements", "100"}};
const CompressionOptions kDithering = {{"compressor", "dithering"}, {"coding", "packed"}};

CompressionOptions DgcWith(const std::string& key, const std::string& value) {
  CompressionOptions options = kDgc;
  options[key] = value;
  return options;
}

class GroupOverNccl : public OnGpuEach<kRanks> {
 protected:
  /// Bytes on the host's network besides payloads, in the steps of these tests.
  static constexpr std::uint64_t kFew = 60'000;

  static void ExpectSame(const GpuTraining& training, bool over_nccl = true) {
    const std::vector<Trained> found = Train(training, OwnGpu);
    const std::vector<Trained> expected = Train(training, OnCpu);
    ExpectSameTraining(found, expected);
    for (const Trained& trained : found) {
      for (const StepReport& report : trained.reports) {
        EXPECT_LE(report.wire_bytes, report.dense_bytes);
      }
      EXPECT_EQ(trained.sent_bytes < kFew, over_nccl) << trained.sent_bytes;
    }
  }
};

TEST_F(GroupOverNccl, WithoutCompressionHasTheBitsOfTheCpu) {
  ExpectSame({.tensors = Tensors()});
  ExpectSame({.tensors = Tensors(), .loss_scale = 4.0f});
  ExpectSame({.tensors = Tensors(), .fusion_threshold_bytes = 0});
}

TEST_F(GroupOverNccl, OfDgcHasTheBitsOfTheCpu) {
  for (const CompressionOptions& compression :
       {kDgc, DgcWith("momentum", "nesterov"), DgcWith("values", "fp32"),
        DgcWith("clip_norm", "0.5"), DgcWith("momentum_masking", "false"),
        DgcWith("state_dtype", "bf16"), DgcWith("rampup_begin_step", "3")}) {
    SCOPED_TRACE(testing::PrintToString(compression));
    ExpectSame({.tensors = Tensors(), .compression = compression});
  }
}

TEST_F(GroupOverNccl, OfCodecsHasTheBitsOfTheCpu) {
  const CompressionOptions others[] = {
      {{"compressor", "topk"}, {"k", "25"}, {"momentum", "nesterov"}, {"momentum_mu", "0.9"}},
      {{"compressor", "onebit"}, {"scaling", "true"}, {"ef", "vanilla"}},
      {{"compressor", "int8"}},
      {{"compressor", "bf16"}, {"ef", "vanilla"}},
      {{"compressor", "dithering"}, {"coding", "packed"}, {"ef", "vanilla"}},
      {{"compressor", "dithering"}, {"normalize", "l2"}, {"ef", "vanilla"}},
      {{"compressor", "signum"}}};
  ExpectSame({.tensors = Tensors(), .compression = kTopK});
  ExpectSame({.tensors = Tensors(), .compression = kRandomK});
  ExpectSame({.tensors = Tensors(), .compression = kHalf});
  for (const CompressionOptions& compression : others) {
    SCOPED_TRACE(testing::PrintToString(compression));
    ExpectSame({.tensors = Tensors(), .compression = compression});
  }
}

using ThreeOverNccl = OnGpuEach<3>;

/// A third is no bf16: what is averaged by multiplying with one is off by 0.2 %.
TEST_F(ThreeOverNccl, AveragesOfBFloat16AreRight) {
  constexpr std::size_t kExact = 85;  // Thrice as much is exact in bf16, too.
  GpuTraining training{
      .tensors = {{"w", Shape{kExact}}}, .compression = {{"compressor", "bf16"}}, .ranks = 3};
  training.steps = 1;
  training.spoil = [](int, int, std::size_t, std::span<float> gradient) {
    for (std::size_t i = 0; i < gradient.size(); ++i) gradient[i] = static_cast<float>(i + 1);
  };
  std::vector<float> expected(kExact);
  training.spoil(0, 0, 0, expected);
  const std::vector<Trained> found = Train(training, OwnGpu);
  for (const Trained& trained : found) {
    EXPECT_EQ(trained.updates[0], MakeGradient(expected, DType::kFloat32).bytes);
  }
}

TEST_F(GroupOverNccl, WithoutCompressionWaitsAtTheGate) {
  ExpectSame(
      {.tensors = Tensors(), .compression = {{"compressor", "dense"}, {"skip_nonfinite", "true"}}});
}

TEST_F(GroupOverNccl, HasItsResultsInTheOrderOfAStream) {
  const CompressionOptions gated = {{"compressor", "dense"}, {"skip_nonfinite", "true"}};
  for (const CompressionOptions& compression : {CompressionOptions{}, gated, kDgc, kHalf}) {
    SCOPED_TRACE(testing::PrintToString(compression));
    ExpectSame({.tensors = Tensors(), .compression = compression, .waits_in_stream = true});
  }
  ExpectSame(
      {.tensors = Tensors(), .compression = {{"compressor", "powersgd"}}, .waits_in_stream = true},
      /*over_nccl=*/false);
}

TEST_F(GroupOverNccl, UpdatesTensorsThatItDidNotUse) {
  for (const CompressionOptions& compression : {CompressionOptions{}, kDgc, kHalf, kTopK}) {
    GpuTraining training{.tensors = Tensors(), .compression = compression};
    training.unused = [](int rank, int step, std::size_t tensor) {
      return (static_cast<std::size_t>(rank + step) + tensor) % 3 == 0;
    };
    ExpectSame(training);
  }
}

TEST_F(GroupOverNccl, OfWhatKernelsDoNotDoTravelsThroughTheHost) {
  std::vector<GpuTraining::Tensor> with_double = Tensors();
  with_double.push_back({"double", Shape{4, 5}, DType::kFloat64});
  ExpectSame({.tensors = with_double}, /*over_nccl=*/false);
  ExpectSame({.tensors = Tensors(), .compression = DgcWith("values", "int4")},
             /*over_nccl=*/false);
  ExpectSame({.tensors = Tensors(), .compression = {{"compressor", "powersgd"}}},
             /*over_nccl=*/false);
}

/// The updates of rank 0, of which rank 1 gives gradients of `its_steps` steps.
std::vector<std::vector<std::byte>> WithARankThatJoins(const CompressionOptions& compression,
                                                       bool on_gpu, int its_steps) {
  constexpr int kSteps = 5;
  const Shape shape{400, 300};
  const auto n = static_cast<std::size_t>(shape.elements());
  return Results(
      RunLocal, kRanks,
      [&](Engine& engine) {
        const Device device{on_gpu ? engine.rank() : Device::kCpu};
        std::unique_ptr<Program> program;
        if (on_gpu) program = std::make_unique<Program>(device.gpu);
        ProgramMemory gradient(program.get(), n * sizeof(float));
        ProgramMemory update(program.get(), n * sizeof(float));
        const auto group =
            engine.Register({.name = "g",
                             .tensors = {{.name = "w", .shape = shape, .device = device}},
                             .compression = compression});
        std::vector<std::vector<std::byte>> updates;
        for (int step = 0; step < (engine.rank() == 0 ? kSteps : its_steps); ++step) {
          const float rate = 0.1f;
          group->BeginStep({.learning_rates = {&rate, 1}, .stream = gradient.stream()});
          std::vector<float> values(n);
          for (std::size_t i = 0; i < n; ++i) {
            values[i] = static_cast<float>((i * 31 + static_cast<std::size_t>(step)) % 1009) -
                        static_cast<float>(engine.rank() * 500);
          }
          const void* const written = gradient.Write(MakeGradient(values, DType::kFloat32).bytes);
          group->Submit(0, {written, DType::kFloat32, shape, device, gradient.stream()},
                        {update.data(), DType::kFloat32, shape, device, gradient.stream()});
          group->EndStep();
          group->WaitStep();
          updates.push_back(update.Read());
        }
        engine.Join();
        return updates;
      },
      OnTestedGpu())[0];
}

TEST_F(GroupOverNccl, GoesOnWithoutARankThatHasJoined) {
  for (const CompressionOptions& compression :
       {CompressionOptions{}, kDgc, kHalf, kTopK, kRandomK, kDithering}) {
    SCOPED_TRACE(testing::PrintToString(compression));
    EXPECT_EQ(WithARankThatJoins(compression, true, 2), WithARankThatJoins(compression, false, 2));
  }
}

/// One rank, whose NCCL has nobody to wait for.
using OneOverNccl = OnGpuEach<1>;

TEST_F(OneOverNccl, LetsTheProgramGoOnBeforeItsGradientsAreThere) {
  if (TestedGpuLibrary().Find("weir_emulated_gpu_launches") != nullptr) {
    GTEST_SKIP() << "an emulated GPU does nothing while it calls the host";
  }
  const Shape shape{1000};
  for (const CompressionOptions& compression : {CompressionOptions{}, kDgc}) {
    SCOPED_TRACE(testing::PrintToString(compression));
    RunLocal(
        1,
        [&](Engine& engine) {
          Program program(0);
          ProgramMemory gradient(&program, 1000 * sizeof(float));
          const auto group =
              engine.Register({.name = "g",
                               .tensors = {{.name = "w", .shape = shape, .device = {0}}},
                               .compression = compression});
          const float rate = 0.1f;
          const auto submit = [&] {
            group->BeginStep({.learning_rates = {&rate, 1}, .stream = gradient.stream()});
            void* const data = gradient.Write(std::vector<std::byte>(1000 * sizeof(float)));
            group->Submit(0, {data, DType::kFloat32, shape, {0}, gradient.stream()},
                          {data, DType::kFloat32, shape, {0}, gradient.stream()});
            group->EndStep();
          };
          submit();  // A GPU loads kernels and NCCL connects while nothing else runs.
          group->WaitStep();
          struct Gate {
            std::promise<void> opens;
            bool opened = false;
          } gate;
          program.gpu.api().call_in(
              gradient.stream(),
              [](void* data) {
                auto& held = *static_cast<Gate*>(data);
                held.opened = held.opens.get_future().wait_for(std::chrono::seconds(20)) ==
                              std::future_status::ready;
              },
              &gate);
          submit();
          group->WaitInStream(gradient.stream());
          gate.opens.set_value();
          group->WaitStep();
          EXPECT_TRUE(gate.opened) << "it waited for the gradient";
        },
        OnTestedGpu());
  }
}

}  // namespace
}  // namespace weir::nccl_training_test
