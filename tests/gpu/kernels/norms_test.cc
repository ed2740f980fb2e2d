// Squared norms on the GPU: the bits of cpu::SquaredNorm.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "compression/cpu/squared_norm.h"
#include "tests/gpu/gradients.h"
#include "tests/gpu/kernels/device_array.h"
#include "tests/gpu/tested_gpu.h"

namespace weir {
namespace {

class GpuNormsTest : public OnGpu<testing::Test> {};

TEST_F(GpuNormsTest, HaveTheBitsOfTheCpu) {
  const std::vector<std::size_t> sizes = {
      1, 15, 16, 17, 4095, 4096, 4097, 8192, 65535, 65537, 262144, 262145, 300000, 532480, 1000001};
  const DType dtypes[] = {DType::kFloat32, DType::kFloat16, DType::kBFloat16};
  Gradients gradients(41);
  std::vector<std::unique_ptr<DeviceArray<std::byte>>> memory;
  std::vector<GpuNormInput> parts;
  std::vector<double> expected;
  for (std::size_t t = 0; t < sizes.size(); ++t) {
    const Gradient gradient = MakeGradient(gradients.Of(sizes[t]), dtypes[t % 3]);
    memory.push_back(std::make_unique<DeviceArray<std::byte>>(api(), gradient.bytes));
    const float scale = t % 2 == 0 ? 1.0f : 0.37f;
    parts.push_back({memory.back()->data(), dtypes[t % 3], scale});
    expected.push_back(cpu::SquaredNorm(gradient.values, scale).sum);
  }
  const std::unique_ptr<GpuNorms> norms = kernels().make_norms(sizes);
  for (int round = 0; round < 2; ++round) {
    norms->Measure(parts, nullptr);
    memory.front()->Values();  // Waits.
    for (std::size_t t = 0; t < sizes.size(); ++t) {
      EXPECT_EQ(std::bit_cast<std::uint64_t>(norms->SquaredNorm(t)),
                std::bit_cast<std::uint64_t>(expected[t]))
          << sizes[t];
    }
  }
}

TEST_F(GpuNormsTest, OfNothingAreZeroAndOfWhatIsNotFiniteAreNot) {
  std::vector<float> values(5000, 1.0f);
  values[4999] = std::numeric_limits<float>::infinity();
  DeviceArray<float> broken(api(), values);
  values[4999] = std::numeric_limits<float>::max();  // Finite, until it is scaled.
  DeviceArray<float> large(api(), values);
  const std::vector<std::size_t> sizes(4, 5000);
  const GpuNormInput parts[] = {{},
                                {.values = broken.data()},
                                {.values = large.data()},
                                {.values = large.data(), .scale = 2.0f}};
  const std::unique_ptr<GpuNorms> norms = kernels().make_norms(sizes);
  norms->Measure(parts, nullptr);
  broken.Values();  // Waits.
  EXPECT_EQ(norms->SquaredNorm(0), 0.0);
  EXPECT_FALSE(std::isfinite(norms->SquaredNorm(1)));
  EXPECT_TRUE(std::isfinite(norms->SquaredNorm(2)));
  EXPECT_FALSE(std::isfinite(norms->SquaredNorm(3)));
}

}  // namespace
}  // namespace weir
