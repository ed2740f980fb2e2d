// Deep Gradient Compression on the GPU: the bytes and the state of the CPU (compression/dgc/dgc.h),
// bit for bit, step after step.
#include "compression/dgc/dgc.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstddef>
#include <limits>
#include <ostream>
#include <string>
#include <vector>

#include "common/gpu/gpu.h"
#include "common/gpu/gpu_memory.h"
#include "tests/gpu/gradients.h"
#include "tests/gpu/kernels/device_array.h"
#include "tests/gpu/kernels/dgc_twins.h"
#include "tests/gpu/kernels/steps.h"
#include "tests/gpu/tested_gpu.h"

namespace weir::dgc_test {
namespace {

class GpuDgcTest : public OnGpu<testing::Test> {
 protected:
  Twins Make(const std::vector<GpuDgcTensor>& tensors) { return {api(), kernels(), tensors}; }
};

struct Case {
  const char* name;
  GpuDgcTensor tensor;
  bool clipped = false;
  DType dtype = DType::kFloat32;
};

void PrintTo(const Case& one, std::ostream* out) { *out << one.name; }

class GpuDgcSteps : public OnGpu<testing::TestWithParam<Case>> {};

// The warm-up of the paper, then its end.
TEST_P(GpuDgcSteps, ManyHaveTheBitsOfTheCpu) {
  GpuDgcTensor tensor = GetParam().tensor;
  std::vector<GpuDgcTensor> tensors;
  for (const std::size_t n : {9000u, 5u, 1500u}) {
    tensor.n = n;
    tensors.push_back(tensor);
  }
  Twins twins(api(), kernels(), tensors, std::vector<DType>(3, GetParam().dtype));
  Gradients gradients(7);
  constexpr double kDensities[] = {0.25, 0.0625, 0.015625, 0.004, 0.001};
  for (int step = 0; step < kComparedSteps; ++step) {
    const float scale = GetParam().clipped ? 1.0f / static_cast<float>(1 + step % 7) : 1.0f;
    twins.Step(gradients.Of(tensors), kDensities[std::min(step / (kComparedSteps / 10), 4)], scale);
    if (HasFatalFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Rules, GpuDgcSteps,
    testing::Values(
        Case{"vanilla", {.momentum = Momentum::kVanilla}},
        Case{"nesterov", {.momentum = Momentum::kNesterov}},
        Case{"without_momentum", {.momentum = Momentum::kNone}},
        Case{"unmasked", {.momentum = Momentum::kVanilla, .masking = Masking::kNone}},
        Case{"nesterov_unmasked", {.momentum = Momentum::kNesterov, .masking = Masking::kNone}},
        Case{"ratio", {.momentum = Momentum::kVanilla, .masking = Masking::kRatio}},
        Case{"nesterov_ratio", {.momentum = Momentum::kNesterov, .masking = Masking::kRatio}},
        Case{"flush", {.momentum = Momentum::kVanilla, .masking = Masking::kFlush}},
        Case{"nesterov_flush", {.momentum = Momentum::kNesterov, .masking = Masking::kFlush}},
        Case{"auto", {.momentum = Momentum::kVanilla, .masking = Masking::kAuto}},
        Case{"nesterov_auto", {.momentum = Momentum::kNesterov, .masking = Masking::kAuto}},
        Case{"bf16_state_auto", {.state = DType::kBFloat16, .masking = Masking::kAuto}},
        Case{"flush_fp32_values",
             {.momentum = Momentum::kVanilla,
              .masking = Masking::kFlush,
              .values = ValueType::kFloat32}},
        Case{"clipped", {.momentum = Momentum::kVanilla}, true},
        Case{"fp32_values", {.momentum = Momentum::kVanilla, .values = ValueType::kFloat32}},
        Case{"fp16_gradients", {.momentum = Momentum::kVanilla}, false, DType::kFloat16},
        Case{"bf16_gradients", {.momentum = Momentum::kNesterov}, false, DType::kBFloat16},
        Case{"bf16_state", {.state = DType::kBFloat16}},
        Case{"bf16_state_nesterov", {.state = DType::kBFloat16, .momentum = Momentum::kNesterov}},
        Case{"bf16_state_without_momentum",
             {.state = DType::kBFloat16, .momentum = Momentum::kNone}},
        Case{"bf16_state_unmasked", {.state = DType::kBFloat16, .masking = Masking::kNone}},
        Case{"bf16_state_fp32_values", {.state = DType::kBFloat16, .values = ValueType::kFloat32}},
        Case{"bf16_throughout", {.state = DType::kBFloat16}, false, DType::kBFloat16}),
    [](const auto& test) { return std::string(test.param.name); });

/// With state of either type.
class GpuDgcOfState : public OnGpu<testing::TestWithParam<DType>> {
 protected:
  Twins Make(std::vector<GpuDgcTensor> tensors) {
    for (GpuDgcTensor& tensor : tensors) tensor.state = GetParam();
    return {api(), kernels(), tensors};
  }
};

INSTANTIATE_TEST_SUITE_P(Types, GpuDgcOfState, testing::Values(DType::kFloat32, DType::kBFloat16),
                         [](const auto& test) { return std::string(Name(test.param)); });

TEST_P(GpuDgcOfState, OfAwkwardSizesHasTheBitsOfTheCpu) {
  for (const std::size_t n : {1u, 2u, 31u, 32u, 33u, 4095u, 4096u, 4097u, 65535u, 65537u}) {
    SCOPED_TRACE(n);
    const std::vector<GpuDgcTensor> tensors{{.n = n}};
    Twins twins = Make(tensors);
    Gradients gradients(static_cast<unsigned>(n));
    for (int step = 0; step < 3; ++step) {
      twins.Step(gradients.Of(tensors), 0.01);
      if (HasFatalFailure()) return;
    }
  }
}

TEST_F(GpuDgcTest, ThatLiesAtOddPlacesHasTheBitsOfTheCpu) {
  const std::vector<GpuDgcTensor> tensors{
      {.n = 5001}, {.n = 777}, {.n = 4099, .values = ValueType::kFloat32}};
  Twins twins(api(), kernels(), tensors, {DType::kFloat32, DType::kBFloat16});
  Gradients gradients(3);
  for (int step = 0; step < 4; ++step) {
    twins.Step(gradients.Of(tensors), 0.01, 1.0f, Twins::Place::kOdd);
    if (HasFatalFailure()) return;
  }
}

// Indices that take all 32 bits. Zeros but for some entries: what is compared lies at the ends.
TEST_F(GpuDgcTest, OfMoreThanTwoToThe31ElementsHasTheBitsOfTheCpu) {
  constexpr std::size_t kHalf = std::size_t{1} << 31;
  constexpr std::size_t kElements = kHalf + 5;
  if (TestedGpuLibrary().Find("weir_emulated_gpu_launches") != nullptr) {
    GTEST_SKIP() << "an emulated GPU would take hours";
  }
  const auto pages = static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES));
  if (pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE)) < std::size_t{40} << 30) {
    GTEST_SKIP() << "this takes 40 GiB of the host's memory, and of the GPU's";
  }
  std::vector<float> gradient(kElements);
  const std::vector<std::size_t> places{0, 1, kHalf - 1, kHalf, kHalf + 1, kElements - 1};
  for (const std::size_t at : places) gradient[at] = static_cast<float>(at % 7) - 9.5f;
  const double density = static_cast<double>(places.size()) / kElements;
  Dgc on_cpu(DgcSettings{}, kElements);

  const Gpu gpu(TestedGpuLibrary(), 0);
  constexpr std::size_t kBytes = kElements * sizeof(float);
  const GpuMemory values(gpu, GpuMemory::Kind::kDevice, kBytes);
  const GpuMemory u(gpu, GpuMemory::Kind::kDevice, kBytes);
  const GpuMemory v(gpu, GpuMemory::Kind::kDevice, kBytes);
  api().copy(values.data(), gradient.data(), kBytes);
  api().clear(u.data(), kBytes);
  api().clear(v.data(), kBytes);
  const GpuDgcTensor tensor{.n = kElements,
                            .u = reinterpret_cast<float*>(u.data()),
                            .v = reinterpret_cast<float*>(v.data())};
  const auto on_gpu = kernels().make_dgc({&tensor, 1});
  for (int step = 0; step < 3; ++step) {
    std::vector<std::byte> expected(on_cpu.MaxEncodedBytes(density));
    const StepContext context{.step = step, .density = density};
    ASSERT_EQ(on_cpu.Encode(context, gradient, expected), expected.size());
    DeviceArray<std::byte> payload(api(), std::vector<std::byte>(expected.size()));
    const GpuBucketCompressor::Input part{.gradient = values.data(),
                                          .k = EntriesToSend(kElements, density),
                                          .payload = payload.data()};
    ASSERT_EQ(part.k, places.size());
    on_gpu->Encode({&part, 1}, nullptr);
    EXPECT_EQ(payload.Values(), expected) << "step " << step;
  }
}

TEST_F(GpuDgcTest, OfEqualValuesTakesTheLowerIndices) {
  const std::vector<GpuDgcTensor> tensors{{.n = 300'000}, {.n = 5000}};
  Twins twins = Make(tensors);
  for (int step = 0; step < 3; ++step) {
    twins.Step({std::vector<float>(300'000, 0.5f), std::vector<float>(5000, -1.0f)}, 0.001);
    if (HasFatalFailure()) return;
  }
}

TEST_P(GpuDgcOfState, OfNothingButZerosHasTheBitsOfTheCpu) {
  const std::vector<GpuDgcTensor> tensors{{.n = 20'000}};
  Twins twins = Make(tensors);
  for (int step = 0; step < 3; ++step) {
    twins.Step({std::vector<float>(20'000, 0.0f)}, 0.001);
    if (HasFatalFailure()) return;
  }
}

TEST_P(GpuDgcOfState, SendsEverythingOrOneEntry) {
  const std::vector<GpuDgcTensor> tensors{{.n = 6000}};
  Twins twins = Make(tensors);
  Gradients gradients(11);
  for (const double density : {1.0, 1e-9, 0.5, 0.3, 1.0, 0.001, 0.06, 0.07}) {
    twins.Step(gradients.Of(tensors), density);
    if (HasFatalFailure()) return;
  }
}

TEST_P(GpuDgcOfState, SelectsAmongCandidatesOnceItKnowsAThreshold) {
  const std::vector<GpuDgcTensor> tensors{{.n = 400'000}};
  Twins twins = Make(tensors);
  Gradients gradients(5);
  twins.Step(gradients.Of(tensors), 0.001);
  EXPECT_TRUE(twins.report(0).reread);
  for (int step = 1; step < 14; ++step) {
    twins.Step(gradients.Of(tensors), 0.001);
    if (HasFatalFailure()) return;
    if (step < 10) continue;  // At first v grows fast.
    EXPECT_FALSE(twins.report(0).reread) << step;
    EXPECT_GE(twins.report(0).candidates, 400u);
    EXPECT_LE(twins.report(0).candidates, 1600u);
  }
}

TEST_P(GpuDgcOfState, ReadsVAgainWhereTooFewOrTooManyReachTheThreshold) {
  const std::vector<GpuDgcTensor> tensors{{.n = 50'000, .momentum = Momentum::kNone}};
  Twins twins = Make(tensors);
  Gradients gradients(6);
  for (const float deviation : {1.0f, 1.0f, 1e-3f, 1e3f, 1.0f, 1e-6f}) {
    twins.Step({gradients.Of(50'000, deviation)}, 0.001);
    if (HasFatalFailure()) return;
  }
}

TEST_P(GpuDgcOfState, CountsWhatIsNotFiniteAsZero) {
  const std::vector<GpuDgcTensor> tensors{{.n = 9000}, {.n = 100}};
  Twins twins = Make(tensors);
  Gradients gradients(8);
  for (int step = 0; step < 4; ++step) {
    std::vector<std::vector<float>> values = gradients.Of(tensors);
    values[0][17] = std::numeric_limits<float>::quiet_NaN();
    values[0][8999] = -std::numeric_limits<float>::infinity();
    values[1][99] = std::numeric_limits<float>::max();
    twins.Step(values, 0.01, 2.0f);
    if (HasFatalFailure()) return;
  }
  EXPECT_EQ(twins.report(0).non_finite, 8u);
}

// Overflow in u or v, not in the gradient.
TEST_P(GpuDgcOfState, ClearsWhatHasOverflowed) {
  const std::vector<GpuDgcTensor> tensors{{.n = 9000}, {.n = 6000, .masking = Masking::kNone}};
  Twins twins = Make(tensors);
  Gradients gradients(9);
  for (int step = 0; step < 6; ++step) {
    std::vector<std::vector<float>> values = gradients.Of(tensors);
    for (std::vector<float>& of_tensor : values) {
      for (std::size_t i = 0; i < 50; ++i) of_tensor[i * 7] = 3e38f;
    }
    twins.Step(values, 0.001);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(twins.report(0).non_finite, 0u);
}

TEST_P(GpuDgcOfState, UndoPutsBackWhatWasSent) {
  const std::vector<GpuDgcTensor> tensors{{.n = 9000}, {.n = 64, .momentum = Momentum::kNone}};
  Twins twins = Make(tensors);
  Gradients gradients(10);
  for (int step = 0; step < 3; ++step) {
    twins.Step(gradients.Of(tensors), 0.01);
    twins.Undo();
    twins.Undo();  // There is nothing left to undo.
    if (HasFatalFailure()) return;
  }
  twins.Step(gradients.Of(tensors), 0.01);
}

TEST_P(GpuDgcOfState, GoesOnFromStateOfTheCpu) {
  const std::vector<GpuDgcTensor> tensors{{.n = 9000}};
  Twins first = Make(tensors);
  Gradients gradients(12);
  for (int step = 0; step < 3; ++step) first.Step(gradients.Of(tensors), 0.01);
  Twins second = Make(tensors);
  for (int step = 0; step < 2; ++step) second.Step(gradients.Of(tensors), 0.01);
  second.Restore(first);
  second.Step(gradients.Of(tensors), 0.01);
}

TEST_F(GpuDgcTest, TakesNoGradientAsZeros) {
  Twins twins = Make({{.n = 5000}});
  Gradients gradients(13);
  twins.Step({gradients.Of(5000)}, 0.01);
  const std::vector<float> zeros(5000, 0.0f);
  std::vector<std::byte> expected(twins.cpu(0).MaxEncodedBytes(0.01));
  twins.cpu(0).Encode({.step = 1, .density = 0.01}, zeros, expected);
  DeviceArray<std::byte> payload(api(), expected.size());
  const GpuBucketCompressor::Input part{.gradient = nullptr, .k = 50, .payload = payload.data()};
  twins.gpu().Encode({&part, 1}, nullptr);
  EXPECT_EQ(payload.Values(), expected);
  twins.CompareState();
}

}  // namespace
}  // namespace weir::dgc_test
