// fp16 and bf16 on the GPU: the bits of common/half.h.
#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <string>
#include <vector>

#include "common/half.h"
#include "tests/gpu/kernels/device_array.h"
#include "tests/gpu/tested_gpu.h"

namespace weir {
namespace {

class GpuCast : public OnGpu<testing::TestWithParam<DType>> {
 protected:
  bool is_half() const { return GetParam() == DType::kFloat16; }
};

TEST_P(GpuCast, OfEveryPatternOfTheUpperBitsRoundsAsTheCpuDoes) {
  std::vector<float> values;
  for (std::uint32_t upper = 0; upper < 0x80000; ++upper) {
    // The lower bits: nothing, a tie, on either side of one, and all.
    for (const std::uint32_t lower : {0x0000u, 0x0fffu, 0x1000u, 0x1001u, 0x1fffu}) {
      values.push_back(std::bit_cast<float>(upper << 13 | lower));
    }
  }
  values.resize(values.size() - 3);  // Not a multiple of anything.
  DeviceArray<float> in(api(), values);
  DeviceArray<std::uint16_t> out(api(), values.size());
  kernels().to_half(in.data(), out.data(), values.size(), GetParam(), nullptr);
  const std::vector<std::uint16_t> found = out.Values();
  for (std::size_t i = 0; i < values.size(); ++i) {
    ASSERT_EQ(found[i], is_half() ? FloatToHalf(values[i]) : FloatToBFloat16(values[i]))
        << std::bit_cast<std::uint32_t>(values[i]);
  }
}

TEST_P(GpuCast, OfEveryHalfIsTheFloatOfTheCpu) {
  std::vector<std::uint16_t> halves;
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    halves.push_back(static_cast<std::uint16_t>(bits));
  }
  DeviceArray<std::uint16_t> in(api(), halves);
  DeviceArray<float> out(api(), halves.size());
  kernels().from_half(in.data(), out.data(), halves.size(), GetParam(), nullptr);
  const std::vector<float> found = out.Values();
  for (std::size_t i = 0; i < halves.size(); ++i) {
    const float expected = is_half() ? HalfToFloat(halves[i]) : BFloat16ToFloat(halves[i]);
    ASSERT_EQ(std::bit_cast<std::uint32_t>(found[i]), std::bit_cast<std::uint32_t>(expected))
        << halves[i];
  }
}

TEST_P(GpuCast, OfNothingIsNothing) {
  kernels().to_half(nullptr, nullptr, 0, GetParam(), nullptr);
  kernels().from_half(nullptr, nullptr, 0, GetParam(), nullptr);
}

INSTANTIATE_TEST_SUITE_P(Types, GpuCast, testing::Values(DType::kFloat16, DType::kBFloat16),
                         [](const auto& test) { return std::string(Name(test.param)); });

}  // namespace
}  // namespace weir
