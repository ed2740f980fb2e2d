// A step's launches as a CUDA graph: once all is allocated, nothing waits or allocates any more,
// and later launches repeat the first.
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "compression/gpu/gpu_compressor.h"
#include "compression/make_compressor.h"
#include "compression/options/registry.h"
#include "tests/gpu/gradients.h"
#include "tests/gpu/program.h"

namespace weir::graphs_test {
namespace {

constexpr std::size_t kElements = 50 * 100;
constexpr double kDensity = 0.02;

struct Case {
  const char* name;
  CompressionOptions options;
};
void PrintTo(const Case& one, std::ostream* out) { *out << one.name; }

std::unique_ptr<Compressor> Make(const CompressionOptions& options) {
  return MakeCompressor(options, {"w", Shape{50, 100}});
}

/// A compressor on the GPU, whose step is given to a stream.
class Step {
 public:
  Step(Program& program, const CompressionOptions& options)
      : program_(program),
        compressor_(Make(options), kElements, program.gpu),
        gradient_(&program, kElements * sizeof(float)),
        payload_(&program, compressor_.MaxEncodedBytes(kDensity)),
        mean_(&program, kElements * sizeof(float)) {
    const GpuCompressor* const one = &compressor_;
    bucket_ = MakeBucketOf(*KernelsOf(program.gpu.library()), {&one, 1});
    const GpuMean::Payload sent{static_cast<const std::byte*>(payload_.data()),
                                static_cast<std::uint32_t>(compressor_.EntriesAt(kDensity))};
    payloads_.assign(2, sent);  // Two ranks.
  }

  void SetGradient(const std::vector<float>& values) {
    gradient_.Write(MakeGradient(values, DType::kFloat32).bytes);
  }
  void Give() {
    Encode();
    Merge();
  }
  void Encode() {
    const GpuBucketCompressor::Input part{.gradient = gradient_.data(),
                                          .k = compressor_.EntriesAt(kDensity),
                                          .payload = static_cast<std::byte*>(payload_.data())};
    bucket_->Encode({&part, 1}, program_.stream.handle());
  }
  void ReserveMerge() {
    const std::size_t entries = compressor_.EntriesAt(kDensity);
    bucket_->ReserveMerge({&entries, 1}, payloads_.size(), program_.stream.handle());
  }
  void Merge() {
    const GpuMean mean{.payloads = payloads_, .mean = mean_.data()};
    bucket_->MergeMean({&mean, 1}, program_.stream.handle());
  }
  std::vector<std::byte> Payload() { return payload_.Read(); }
  std::vector<std::byte> Mean() { return mean_.Read(); }

 private:
  Program& program_;
  GpuCompressor compressor_;
  ProgramMemory gradient_;
  ProgramMemory payload_;
  ProgramMemory mean_;
  std::unique_ptr<GpuBucketCompressor> bucket_;
  std::vector<GpuMean::Payload> payloads_;
};

void* Captured(Program& program, Step& step) {
  return program.gpu.api().capture(
      program.stream.handle(), [](void* data) { static_cast<Step*>(data)->Give(); }, &step);
}

class GpuGraphs : public OnGpu<testing::TestWithParam<Case>> {};

TEST_P(GpuGraphs, OfAStepDoWhatTheStepDoes) {
  Program program(0);
  const GpuApi& gpu = program.gpu.api();
  Step step(program, GetParam().options);
  const std::unique_ptr<Compressor> cpu = Make(GetParam().options);
  Gradients gradients(71);
  void* graph = nullptr;
  for (int i = 0; i < 8; ++i) {
    SCOPED_TRACE(i);
    const std::vector<float> values = gradients.Of(kElements);
    step.SetGradient(values);
    if (graph == nullptr) {
      step.Give();
    } else {
      gpu.launch(graph, program.stream.handle());
    }
    std::vector<std::byte> wanted(cpu->MaxEncodedBytes(kDensity));
    wanted.resize(cpu->Encode({.density = kDensity}, values, wanted));
    ASSERT_EQ(step.Payload(), wanted);
    std::vector<float> mean(kElements);
    const std::vector<std::span<const std::byte>> both(2, wanted);
    cpu->MergeMean(both, mean);
    cpu->Finish({.density = kDensity}, mean);
    ASSERT_EQ(step.Mean(), MakeGradient(mean, DType::kFloat32).bytes);
    if (i == 2) graph = Captured(program, step);
  }
  gpu.release_graph(graph);
}

/// Behind an exchange nobody may wait: not even in the first step.
TEST_P(GpuGraphs, OfAFirstMergeTakeNothingThatWasNotReserved) {
  Program program(0);
  const GpuApi& gpu = program.gpu.api();
  Step step(program, GetParam().options);
  Gradients gradients(72);
  step.SetGradient(gradients.Of(kElements));
  step.Encode();
  step.ReserveMerge();
  void* const graph = gpu.capture(
      program.stream.handle(), [](void* data) { static_cast<Step*>(data)->Merge(); }, &step);
  gpu.launch(graph, program.stream.handle());
  const std::vector<std::byte> mean = step.Mean();
  gpu.release_graph(graph);
  Step twin(program, GetParam().options);
  Gradients same(72);
  twin.SetGradient(same.Of(kElements));
  twin.Give();
  EXPECT_EQ(mean, twin.Mean());
}

INSTANTIATE_TEST_SUITE_P(
    Compressors, GpuGraphs,
    testing::Values(
        Case{"dgc",
             {{"compressor", "dgc"},
              {"momentum_mu", "0.9"},
              {"policy", "always"},
              {"min_elements", "0"}}},
        Case{"dgc_nesterov",
             {{"compressor", "dgc"},
              {"momentum", "nesterov"},
              {"policy", "always"},
              {"min_elements", "0"}}},
        Case{"stays_dense",
             {{"compressor", "dgc"}, {"momentum_mu", "0.9"}, {"min_elements", "6000"}}},
        Case{"fp16", {{"compressor", "fp16"}}}, Case{"int8", {{"compressor", "int8"}}},
        Case{"onebit", {{"compressor", "onebit"}, {"scaling", "true"}, {"ef", "vanilla"}}},
        Case{"topk", {{"compressor", "topk"}, {"ef", "vanilla"}, {"min_elements", "0"}}},
        Case{"randomk", {{"compressor", "randomk"}, {"ef", "vanilla"}, {"min_elements", "0"}}},
        Case{"dithering", {{"compressor", "dithering"}, {"coding", "packed"}, {"ef", "vanilla"}}},
        Case{"shorter", {{"compressor", "dithering"}, {"ef", "vanilla"}}}),
    [](const auto& test) { return std::string(test.param.name); });

using GpuGraphsOfOthers = OnGpu<testing::Test>;

TEST_F(GpuGraphsOfOthers, AreNotMadeOfWorkThatAllocates) {
  Program program(0);
  const GpuApi& gpu = program.gpu.api();
  const auto capture = [&] {
    gpu.capture(
        program.stream.handle(),
        [](void* api) {
          const GpuApi& its = *static_cast<const GpuApi*>(api);
          its.release(its.allocate(100));
        },
        const_cast<GpuApi*>(&gpu));
  };
  EXPECT_THROW(capture(), std::runtime_error);
  program.stream.Await();  // It can be used as before.
}

}  // namespace
}  // namespace weir::graphs_test
