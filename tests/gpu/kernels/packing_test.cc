// Gradients side by side as fp32, and back: the values of the CPU.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <vector>

#include "tests/gpu/gradients.h"
#include "tests/gpu/kernels/device_array.h"
#include "tests/gpu/tested_gpu.h"

namespace weir {
namespace {

using testing::Each;

class GpuPackingTest : public OnGpu<testing::Test> {};

const std::vector<std::size_t> kSizes = {1, 31, 4096, 4097, 65535, 65537, 5, 100};
constexpr DType kTypes[] = {DType::kFloat32, DType::kFloat16, DType::kBFloat16};

std::size_t Sum(const std::vector<std::size_t>& sizes) {
  std::size_t sum = 0;
  for (const std::size_t size : sizes) sum += size;
  return sum;
}

TEST_F(GpuPackingTest, ValuesLieSideBySideScaledAndComeBackAsTheyWere) {
  Gradients gradients(17);
  std::vector<std::unique_ptr<DeviceArray<std::byte>>> in;
  std::vector<std::unique_ptr<DeviceArray<std::byte>>> out;
  std::vector<GpuPacking::Source> sources;
  std::vector<GpuPacking::Target> targets;
  std::vector<std::vector<std::byte>> bytes;
  std::vector<float> expected;
  for (std::size_t t = 0; t < kSizes.size(); ++t) {
    const DType dtype = kTypes[t % 3];
    const Gradient gradient = MakeGradient(gradients.Of(kSizes[t]), dtype);
    const float scale = t % 2 == 0 ? 1.0f : 0.25f;
    bytes.push_back(gradient.bytes);
    in.push_back(std::make_unique<DeviceArray<std::byte>>(api(), gradient.bytes));
    out.push_back(std::make_unique<DeviceArray<std::byte>>(
        api(), std::vector<std::byte>(gradient.bytes.size(), std::byte{0x33})));
    sources.push_back({.values = in.back()->data(), .dtype = dtype, .scale = scale});
    targets.push_back({out.back()->data(), dtype});
    for (const float value : gradient.values) expected.push_back(value * scale);
  }
  DeviceArray<float> packed(api(), std::vector<float>(expected.size(), -1.0f));
  const std::unique_ptr<GpuPacking> packing = kernels().make_packing(kSizes);
  packing->Pack(sources, packed.data(), nullptr);
  EXPECT_EQ(packed.Values(), expected);
  for (GpuPacking::Source& source : sources) source.scale = 1.0f;
  packing->Pack(sources, packed.data(), nullptr);
  packing->Unpack(packed.data(), targets, nullptr);
  for (std::size_t t = 0; t < kSizes.size(); ++t) EXPECT_EQ(out[t]->Values(), bytes[t]) << t;
}

TEST_F(GpuPackingTest, WhatIsNotWantedIsNotTouchedAndWhatIsNotGivenIsZero) {
  DeviceArray<float> packed(api(), std::vector<float>(Sum(kSizes), -1.0f));
  std::vector<GpuPacking::Source> sources(kSizes.size());
  for (std::size_t t = 0; t < kSizes.size(); t += 2) sources[t].wanted = false;
  const std::unique_ptr<GpuPacking> packing = kernels().make_packing(kSizes);
  packing->Pack(sources, packed.data(), nullptr);
  packing->Unpack(packed.data(), std::vector<GpuPacking::Target>(kSizes.size()), nullptr);
  const std::vector<float> values = packed.Values();
  std::size_t first = 0;
  for (std::size_t t = 0; t < kSizes.size(); ++t) {
    const std::vector<float> part(values.begin() + static_cast<std::ptrdiff_t>(first),
                                  values.begin() + static_cast<std::ptrdiff_t>(first + kSizes[t]));
    EXPECT_THAT(part, Each(t % 2 == 0 ? -1.0f : 0.0f)) << t;
    first += kSizes[t];
  }
}

}  // namespace
}  // namespace weir
