// Gradients on GPUs: the bits of those on the CPU, with
// any compressor and on any route.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/coordinator/jobs/keeping_cases.h"
#include "tests/gpu/gradients.h"
#include "tests/gpu/program.h"
#include "tests/gpu/tested_gpu.h"
#include "tests/gpu/training/gpu_training.h"
#include "weir/error.h"

namespace weir {
namespace {

using testing::AllOf;
using testing::HasSubstr;

/// On the network, too.
void ExpectSame(const std::vector<Trained>& found, const std::vector<Trained>& expected) {
  ASSERT_NO_FATAL_FAILURE(ExpectSameTraining(found, expected));
  for (std::size_t rank = 0; rank < found.size(); ++rank) {
    for (std::size_t step = 0; step < found[rank].reports.size(); ++step) {
      EXPECT_EQ(found[rank].reports[step].wire_bytes, expected[rank].reports[step].wire_bytes);
    }
  }
}

/// Small ones, which nothing may touch by mistake (tests/emulated_gpu/memory.h).
std::vector<GpuTraining::Tensor> Tensors() {
  return {{"w", Shape{30, 43}},
          {"b", Shape{37}},
          {"half", Shape{5, 77}, DType::kFloat16},
          {"brain", Shape{3, 100}, DType::kBFloat16},
          {"double", Shape{4, 5}, DType::kFloat64}};
}

const CompressionOptions kDgc = {{"compressor", "dgc"},  {"density", "0.02"},
                                 {"momentum_mu", "0.9"}, {"min_elements", "100"},
                                 {"policy", "always"},   {"warmup_steps", "5"}};

using GpuGroup = OnGpu<testing::Test>;

class GpuGroupOf : public OnGpu<testing::TestWithParam<KeepingCase>> {};

TEST_P(GpuGroupOf, HasTheBitsOfTheCpu) {
  const KeepingCase& what = GetParam();
  const GpuTraining training{.tensors = Tensors(),
                             .compression = what.options,
                             .ranks = 2 * what.ranks_per_contributor,
                             .ranks_per_host = what.ranks_per_contributor,
                             .steps = 6};
  ExpectSame(Train(training, OnGpu0), Train(training, OnCpu));
}

TEST_P(GpuGroupOf, KeepsNoTraceOfADroppedStep) {
  const KeepingCase& what = GetParam();
  GpuTraining training{.tensors = Tensors(),
                       .compression = what.options,
                       .ranks = 2 * what.ranks_per_contributor,
                       .ranks_per_host = what.ranks_per_contributor,
                       .steps = 5};
  const std::vector<Trained> plain = Train(training, OnCpu);
  training.dropped = [](int step) { return step % 2 == 1; };
  ExpectSame(Train(training, OnGpu0), plain);
}

INSTANTIATE_TEST_SUITE_P(Keeping, GpuGroupOf, testing::ValuesIn(KeepingCases()),
                         [](const auto& test) { return test.param.name; });

TEST_F(GpuGroup, CompressesWithKernelsWhereThereAreKernels) {
  void* const counter = TestedGpuLibrary().Find("weir_emulated_gpu_launches");
  if (counter == nullptr) GTEST_SKIP() << "the emulated GPU's launches are counted";
  const auto launches = [&](const CompressionOptions& compression, const Placement& placement) {
    const auto count = reinterpret_cast<std::uint64_t (*)()>(counter);
    const std::uint64_t before = count();
    Train({.tensors = Tensors(), .compression = compression}, placement);
    return count() - before;
  };
  EXPECT_GT(launches(kDgc, OnGpu0), 0u);
  EXPECT_EQ(launches(kDgc, OnCpu), 0u);
  for (const auto& [key, value] : {std::pair{"momentum", "adam"}, std::pair{"values", "int4"}}) {
    CompressionOptions other = kDgc;
    other.erase("momentum_mu");
    other[key] = value;
    EXPECT_EQ(launches(other, OnGpu0), 0u) << key;
  }
}

TEST_F(GpuGroup, OfEveryOtherKindHasTheBitsOfTheCpu) {
  const CompressionOptions kinds[] = {{},
                                      {{"compressor", "fp16"}},
                                      {{"compressor", "bf16"}},
                                      {{"compressor", "powersgd"}},
                                      {{"compressor", "dithering"}, {"policy", "always"}}};
  for (const CompressionOptions& compression : kinds) {
    SCOPED_TRACE(testing::PrintToString(compression));
    const GpuTraining training{.tensors = Tensors(), .compression = compression};
    ExpectSame(Train(training, OnGpu0), Train(training, OnCpu));
  }
}

TEST_F(GpuGroup, OfLargeDenseTensorsHasTheBitsOfTheCpu) {
  const GpuTraining training{
      .tensors = {{"large", Shape{400, 300}}, {"b", Shape{37}}}, .steps = 3, .loss_scale = 2.0f};
  ExpectSame(Train(training, OnGpu0), Train(training, OnCpu));
  GpuTraining alone = training;
  alone.fusion_threshold_bytes = 0;
  alone.loss_scale = 1.0f;
  ExpectSame(Train(alone, OnGpu0), Train(alone, OnCpu));
}

TEST_F(GpuGroup, OfMoreThanAChunkHasTheBitsOfTheCpu) {
  GpuTraining training{.steps = 3};
  for (const char* name : {"a", "b", "c", "d"}) {
    training.tensors.push_back({name, Shape{500, 600}});  // More than a MiB.
    training.tensors.push_back({std::string(name) + "_bias", Shape{37}});
  }
  for (const CompressionOptions& compression :
       {CompressionOptions{}, {{"compressor", "powersgd"}}, {{"compressor", "fp16"}}}) {
    SCOPED_TRACE(testing::PrintToString(compression));
    training.compression = compression;
    ExpectSame(Train(training, OnGpu0), Train(training, OnCpu));
  }
}

// Ranks need not be alike, nor a rank's tensors.
TEST_F(GpuGroup, MayBeMixedWithOthersOnTheCpu) {
  const GpuTraining training{.tensors = Tensors(), .compression = kDgc, .ranks = 3};
  const std::vector<Trained> expected = Train(training, OnCpu);
  ExpectSame(Train(training, [](int rank, std::size_t) { return TestedDevice(rank - 1); }),
             expected);
  ExpectSame(Train(training,
                   [](int, std::size_t tensor) {
                     return TestedDevice(tensor % 2 == 0 ? 1 : Device::kCpu);
                   }),
             expected);
}

TEST_F(GpuGroup, ClippedAndScaledHasTheBitsOfTheCpu) {
  GpuTraining training{.tensors = Tensors(), .compression = kDgc, .loss_scale = 128.0f};
  training.compression["clip_norm"] = "0.5";
  ExpectSame(Train(training, OnGpu0), Train(training, OnCpu));
}

TEST_F(GpuGroup, SkipsTheStepsThatTheCpuSkips) {
  GpuTraining training{.tensors = Tensors(), .compression = kDgc};
  training.compression["skip_nonfinite"] = "true";
  training.spoil = [](int rank, int step, std::size_t tensor, std::span<float> gradient) {
    if (rank == 1 && step % 3 == 1 && tensor == 2) {
      gradient[7] = std::numeric_limits<float>::infinity();
    }
  };
  const std::vector<Trained> found = Train(training, OnGpu0);
  ExpectSame(found, Train(training, OnCpu));
  EXPECT_TRUE(found[0].reports[1].skipped);
}

TEST_F(GpuGroup, UpdatesTensorsThatItDidNotUse) {
  GpuTraining training{.tensors = Tensors(), .compression = kDgc};
  training.unused = [](int rank, int step, std::size_t tensor) {
    return (static_cast<std::size_t>(rank + step) + tensor) % 3 == 0;
  };
  ExpectSame(Train(training, OnGpu0), Train(training, OnCpu));
  training.tensors.resize(1);  // No other one is waited for in its place.
  ExpectSame(Train(training, OnGpu0), Train(training, OnCpu));
}

class GpuGroupWithState : public OnGpu<testing::TestWithParam<const char*>> {
 protected:
  CompressionOptions Compression() {
    CompressionOptions options = kDgc;
    options["state_dtype"] = GetParam();
    return options;
  }
};
INSTANTIATE_TEST_SUITE_P(Types, GpuGroupWithState, testing::Values("fp32", "bf16"),
                         [](const auto& test) { return std::string(test.param); });

TEST_P(GpuGroupWithState, GoesFromTheDensePhaseToCompressionWithTheBitsOfTheCpu) {
  GpuTraining training{.tensors = Tensors(), .compression = Compression(), .steps = 8};
  training.compression["rampup_begin_step"] = "4";
  for (const char* momentum : {"vanilla", "nesterov"}) {
    training.compression["momentum"] = momentum;
    const std::vector<Trained> on_gpu = Train(training, OnGpu0);
    ExpectSame(on_gpu, Train(training, OnCpu));
    EXPECT_EQ(on_gpu[0].updates, on_gpu[1].updates);
  }
}

TEST_P(GpuGroupWithState, GoesOnFromAStateOfTheCpuAndBack) {
  GpuTraining training{.tensors = Tensors(), .compression = Compression(), .steps = 4};
  const auto states = [](const std::vector<Trained>& trained) {
    std::vector<std::string> all;
    for (const Trained& one : trained) all.push_back(one.state);
    return all;
  };
  const std::vector<std::string> begun = states(Train(training, OnCpu));
  const std::vector<Trained> on_gpu = Train(training, OnGpu0, begun);
  const std::vector<Trained> on_cpu = Train(training, OnCpu, begun);
  ExpectSame(on_gpu, on_cpu);
  ExpectSame(Train(training, OnCpu, states(on_gpu)), Train(training, OnGpu0, states(on_cpu)));
}

/// An engine's error for a group of these tensors.
std::string RefusalOf(std::vector<GradientSpec> tensors, const std::string& library) {
  Settings settings;
  settings.gpu_library = library;
  std::string text;
  RunLocal(
      1,
      [&](Engine& engine) {
        try {
          engine.Register({.name = "g", .tensors = tensors});
        } catch (const InvalidArgument& error) {
          text = error.what();
        }
      },
      settings);
  return text;
}

TEST(GpuGroupWithoutALibrary, IsRefusedWithWhatIsMissing) {
  EXPECT_THAT(RefusalOf({{.name = "w", .shape = Shape{3}, .device = {0}}}, "/no/such.so"),
              AllOf(HasSubstr("gradient 'w' is on cuda:0"), HasSubstr("there is no /no/such.so")));
}

TEST_F(GpuGroup, OnAGpuThatThereIsNotIsRefused) {
  EXPECT_THAT(RefusalOf({{.name = "w", .shape = Shape{3}, .device = {99}}}, TestedGpuLibraryPath()),
              AllOf(HasSubstr("gradient 'w' is on cuda:99"), HasSubstr("GPUs, from cuda:0")));
}

TEST_F(GpuGroup, OnTwoGpusIsRefused) {
  EXPECT_THAT(RefusalOf({{.name = "w", .shape = Shape{3}, .device = {0}},
                         {.name = "b", .shape = Shape{3}, .device = {1}}},
                        TestedGpuLibraryPath()),
              AllOf(HasSubstr("'b' is on cuda:1"), HasSubstr("'w' on cuda:0")));
}

/// A group of one rank and one tensor, of 3 elements, on GPU 0.
void OnOneGpuTensor(const std::function<void(GradientGroup&, const Shape&)>& act) {
  RunLocal(
      1,
      [&](Engine& engine) {
        const Shape shape{3};
        const auto group = engine.Register(
            {.name = "g", .tensors = {{.name = "w", .shape = shape, .device = {0}}}});
        act(*group, shape);
      },
      OnTestedGpu());
}

// A wrong stream is reported when it is handed over, and the step goes on.
TEST_F(GpuGroup, TakesNoOtherStreams) {
  OnOneGpuTensor([](GradientGroup& group, const Shape& shape) {
    Program program(0);
    ProgramMemory gradient(&program, 12);
    ProgramMemory update(&program, 12);
    gradient.Write(MakeGradient({1.0f, 2.0f, 3.0f}, DType::kFloat32).bytes);
    const TensorView in{gradient.data(), DType::kFloat32, shape, {0}, program.stream.handle()};
    const TensorView out{update.data(), DType::kFloat32, shape, {0}, program.stream.handle()};
    TensorView other = out;
    other.stream = nullptr;
    group.BeginStep({});
    EXPECT_THROW(group.Submit(0, in, other), InvalidArgument);
    // CUDA knows no such stream: a pointer to something else.
    if (TestedGpuLibrary().Find("weir_emulated_gpu_launches") != nullptr) {
      TensorView wrong_in = in;
      TensorView wrong_out = out;
      wrong_in.stream = wrong_out.stream = &program;
      EXPECT_THROW(group.Submit(0, wrong_in, wrong_out), std::runtime_error);
    }
    group.Submit(0, in, out);
    group.EndStep();
    group.WaitStep();
    EXPECT_EQ(update.Read(), gradient.Read());
  });
}

TEST_F(GpuGroup, TakesNoTensorOfAnotherDevice) {
  OnOneGpuTensor([](GradientGroup& group, const Shape& shape) {
    std::vector<float> values(3);
    const TensorView view{values.data(), DType::kFloat32, shape};
    group.BeginStep({});
    try {
      group.Submit(0, view, view);
      ADD_FAILURE() << "taken";
    } catch (const InvalidArgument& error) {
      EXPECT_THAT(error.what(),
                  AllOf(HasSubstr("gradient of 'w' is on cpu"), HasSubstr("registered on cuda:0")));
    }
    group.EndStep();
    group.WaitStep();
  });
}

}  // namespace
}  // namespace weir
