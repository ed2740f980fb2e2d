// An NCCL that is slow, or fails in the middle of a gradient's exchange, which a
// real one does not do on request.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <span>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "compression/options/options.h"
#include "compression/state/state.h"
#include "tests/coordinator/jobs/engine_calls.h"
#include "tests/coordinator/jobs/job.h"
#include "tests/coordinator/jobs/training.h"
#include "tests/gpu/gradients.h"
#include "tests/gpu/nccl/over_nccl.h"
#include "tests/gpu/program.h"

namespace weir::nccl_failure_test {
namespace {

using testing::HasSubstr;

constexpr int kRanks = 2;
const Shape kShape{20, 30};
constexpr std::size_t kElements = 600;

/// Tells the emulated NCCL what to do.
void Tell(const char* function, int number) {
  void* const library = dlopen(TestedGpuLibraryPath().c_str(), RTLD_NOW | RTLD_NOLOAD);
  const auto call = reinterpret_cast<void (*)(int)>(dlsym(library, function));
  ASSERT_NE(call, nullptr);
  call(number);
}

/// The next exchange that the ranks make fails.
void FailNext() { Tell("EmulatedNcclFailAt", 1); }

/// A rank, and its only gradient.
class Trainer {
 public:
  Trainer(Engine& engine, const CompressionOptions& compression)
      : program_(engine.rank()),
        gradient_(&program_, kElements * sizeof(float)),
        update_(&program_, kElements * sizeof(float)),
        group_(
            engine.Register({.name = "g",
                             .tensors = {{.name = "w", .shape = kShape, .device = {engine.rank()}}},
                             .compression = compression})) {}

  void Step(float value) {
    const float rate = 0.1f;
    group_->BeginStep({.learning_rates = {&rate, 1}, .stream = program_.stream.handle()});
    const std::vector<float> values(kElements, value);
    gradient_.Write(MakeGradient(values, DType::kFloat32).bytes);
    const auto view = [](ProgramMemory& memory) {
      return TensorView{memory.data(), DType::kFloat32, kShape, memory.device(), memory.stream()};
    };
    group_->Submit(0, view(gradient_), view(update_));
    group_->EndStep();
    group_->WaitStep();
  }
  std::string Save() const {
    std::ostringstream out;
    group_->Save(out);
    return std::move(out).str();
  }

 private:
  Program program_;
  ProgramMemory gradient_;
  ProgramMemory update_;
  std::unique_ptr<GradientGroup> group_;
};

class NcclThatFails : public OnGpuEach<kRanks> {
 protected:
  /// Results of `after` on each rank whose second step, of gradients of 1/3, has failed.
  template <typename After>
  static auto Fail(const CompressionOptions& compression, const After& after) {
    return Results(
        RunLocal, kRanks,
        [&](Engine& engine) {
          Trainer trainer(engine, compression);
          trainer.Step(1.5f);
          if (engine.rank() == 0) FailNext();
          EXPECT_THAT(ErrorOf([&] { trainer.Step(1.0f / 3.0f); }), HasSubstr("PeerLost"));
          return after(trainer);
        },
        OnTestedGpu());
  }
};

TEST_F(NcclThatFails, LeavesWhatWasNotSentInTheErrors) {
  for (CompressionOptions compression :
       {CompressionOptions{{"compressor", "fp16"}}, CompressionOptions{{"compressor", "bf16"}},
        CompressionOptions{{"compressor", "int8"}, {"min_elements", "0"}}}) {
    SCOPED_TRACE(testing::PrintToString(compression));
    compression["ef"] = "vanilla";
    const auto saved = Fail(compression, [](Trainer& trainer) { return trainer.Save(); });
    for (const auto& [rank, bytes] : saved) {
      const SavedState state = Deserialize(std::as_bytes(std::span(bytes)));
      ASSERT_EQ(state.arrays.size(), 1u);
      // 1.5 was sent without a loss; of 1/3 nothing was sent.
      EXPECT_THAT(state.arrays[0].values, testing::Each(1.0f / 3.0f)) << "rank " << rank;
    }
  }
}

TEST_F(NcclThatFails, ToConnectIsToldWithWhatGoesWithoutIt) {
  Settings settings = OnTestedGpu();
  settings.stall_warning_seconds = 0.001;
  Tell("EmulatedNcclIsSlow", 5000);
  testing::internal::CaptureStderr();
  RunLocal(
      kRanks,
      [](Engine& engine) {
        Trainer(engine, {{"compressor", "fp16"}}).Step(1.0f);
      },
      settings);
  const std::string told = testing::internal::GetCapturedStderr();
  EXPECT_THAT(told, HasSubstr("NCCL has not connected the GPUs of 2 ranks in 0.001 s"));
  EXPECT_THAT(told, HasSubstr("--gpu-transport mpi-staged does without NCCL"));
}

TEST_F(NcclThatFails, LeavesNoStateToSaveWhereMomentumHasTakenInWhatCame) {
  for (const CompressionOptions& compression :
       {CompressionOptions{{"compressor", "dgc"}, {"rampup_begin_step", "5"}, {"policy", "always"}},
        CompressionOptions{
            {"compressor", "dgc"}, {"min_elements", "1000"}, {"policy", "always"}}}) {
    SCOPED_TRACE(testing::PrintToString(compression));
    Fail(compression, [](Trainer& trainer) {
      EXPECT_THAT(ErrorOf([&] { trainer.Save(); }), HasSubstr("Go on from the last checkpoint"));
      return 0;
    });
  }
}

}  // namespace
}  // namespace weir::nccl_failure_test
