#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "compression/dgc/dgc.h"
#include "tests/gpu/gradients.h"
#include "tests/gpu/kernels/device_array.h"
#include "tests/gpu/tested_gpu.h"

namespace weir {

/// Tensors with DGC, on the CPU and on the GPU, that take the same steps.
class Twins {
 public:
  /// Gradients are fp32, except those with a given type, by tensor.
  Twins(const GpuApi& api, const GpuKernels& kernels, std::vector<GpuDgcTensor> tensors,
        std::vector<DType> dtypes = {})
      : api_(api), tensors_(std::move(tensors)), dtypes_(std::move(dtypes)) {
    dtypes_.resize(tensors_.size(), DType::kFloat32);
    for (GpuDgcTensor& tensor : tensors_) {
      const std::vector<std::byte> zeros(tensor.n * SizeOf(tensor.state));
      v_.push_back(std::make_unique<DeviceArray<std::byte>>(api, zeros));
      u_.push_back(std::make_unique<DeviceArray<std::byte>>(api, zeros));
      tensor.v = v_.back()->data();
      if (tensor.momentum != Momentum::kNone) tensor.u = u_.back()->data();
      DgcSettings settings;
      settings.rule = {.momentum = tensor.momentum, .m = tensor.m, .masking = tensor.masking};
      settings.values = tensor.values;
      settings.state = tensor.state;
      settings.seed = tensor.seed = static_cast<std::uint32_t>(cpu_.size());
      cpu_.push_back(std::make_unique<Dgc>(settings, tensor.n));
    }
    gpu_ = kernels.make_dgc(tensors_);
  }

  /// Placement of a step's payloads and gradients in memory: at multiples of 16 bytes, or not even
  /// at multiples of a value's size.
  enum class Place { kAligned, kOdd };

  /// Takes one step and compares.
  void Step(const std::vector<std::vector<float>>& values, double density, float scale = 1.0f,
            Place place = Place::kAligned) {
    SCOPED_TRACE("step " + std::to_string(step_));
    const std::size_t shift = place == Place::kOdd ? 1 : 0;
    std::vector<std::unique_ptr<DeviceArray<std::byte>>> memory;
    std::vector<GpuBucketCompressor::Input> parts;
    std::vector<std::vector<std::byte>> expected;
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      const GpuDgcTensor& tensor = tensors_[i];
      const Gradient gradient = MakeGradient(values[i], dtypes_[i]);
      const StepContext context{
          .step = step_, .density = density, .gradient_scale = scale, .rank = 1};
      expected.emplace_back(cpu_[i]->MaxEncodedBytes(density));
      ASSERT_EQ(cpu_[i]->Encode(context, gradient.values, expected[i]), expected[i].size());

      const std::size_t width = SizeOf(dtypes_[i]);
      std::vector<std::byte> on_gpu(shift * width + gradient.bytes.size());
      std::ranges::copy(gradient.bytes, on_gpu.begin() + shift * width);
      memory.push_back(std::make_unique<DeviceArray<std::byte>>(api_, on_gpu));
      const std::byte* const from = memory.back()->data() + shift * width;
      const std::vector<std::byte> untouched(expected[i].size() + shift + 1, std::byte{0x5a});
      memory.push_back(std::make_unique<DeviceArray<std::byte>>(api_, untouched));
      parts.push_back({.gradient = from,
                       .dtype = dtypes_[i],
                       .scale = scale,
                       .k = EntriesToSend(tensor.n, density),
                       .step = step_,
                       .rank = 1,
                       .payload = memory.back()->data() + shift});
    }
    gpu_->Encode(parts, nullptr);
    gpu_->FetchReports(nullptr);
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      SCOPED_TRACE("tensor " + std::to_string(i));
      std::vector<std::byte> wanted = expected[i];
      wanted.insert(wanted.begin(), shift, std::byte{0x5a});
      wanted.push_back(std::byte{0x5a});  // Nothing is written after it.
      ASSERT_EQ(memory[2 * i + 1]->Values(), wanted);
      ASSERT_EQ(gpu_->ReportOf(i).kth_magnitude, cpu_[i]->threshold());
      ASSERT_EQ(gpu_->ReportOf(i).non_finite, cpu_[i]->non_finite_entries());
    }
    ++step_;
    CompareState();
  }

  void CompareState() {
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      for (const Compressor::StateArray& array : cpu_[i]->State()) {
        const Gradient kept =
            MakeGradient({array.values.begin(), array.values.end()}, tensors_[i].state);
        ASSERT_EQ(BitsOf(kept.values), BitsOf(array.values)) << "it is none of this type";
        ASSERT_EQ(StateOf(array.name, i).Values(), kept.bytes) << array.name << " of tensor " << i;
      }
    }
  }

  void Undo() {
    for (const auto& compressor : cpu_) compressor->Revert();
    gpu_->Undo(nullptr);
    CompareState();
  }

  /// Continues from the CPU state of others.
  void Restore(Twins& from) {
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      std::vector<Compressor::StateArray> own = cpu_[i]->State();
      const std::vector<Compressor::StateArray> arrays = from.cpu_[i]->State();
      for (std::size_t a = 0; a < arrays.size(); ++a) {
        std::ranges::copy(arrays[a].values, own[a].values.begin());
        const std::vector<float> values(arrays[a].values.begin(), arrays[a].values.end());
        StateOf(arrays[a].name, i).Set(MakeGradient(values, tensors_[i].state).bytes);
      }
      cpu_[i]->Restored();
    }
    gpu_->Forget(nullptr);
  }

  GpuBucketCompressor& gpu() { return *gpu_; }
  Dgc& cpu(std::size_t i) { return *cpu_[i]; }
  GpuBucketCompressor::Report report(std::size_t i) const { return gpu_->ReportOf(i); }

 private:
  DeviceArray<std::byte>& StateOf(const std::string& name, std::size_t tensor) {
    return name == "velocity" ? *v_[tensor] : *u_[tensor];
  }

  const GpuApi& api_;
  std::vector<GpuDgcTensor> tensors_;
  std::vector<DType> dtypes_;
  std::vector<std::unique_ptr<DeviceArray<std::byte>>> u_;
  std::vector<std::unique_ptr<DeviceArray<std::byte>>> v_;
  std::unique_ptr<GpuBucketCompressor> gpu_;
  std::vector<std::unique_ptr<Dgc>> cpu_;
  std::int64_t step_ = 0;
};

}  // namespace weir
