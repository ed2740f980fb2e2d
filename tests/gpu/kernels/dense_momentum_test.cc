// Tensors that stay dense in DGC's buckets: the bytes, the means and the state of the CPU
// (compression/dgc/dense_momentum.h), bit for bit, step after step.
#include "compression/dgc/dense_momentum.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <ostream>
#include <span>
#include <string>
#include <vector>

#include "tests/gpu/gradients.h"
#include "tests/gpu/kernels/device_array.h"
#include "tests/gpu/kernels/steps.h"
#include "tests/gpu/tested_gpu.h"

namespace weir::dense_momentum_test {
namespace {

constexpr std::size_t kRanks = 3;

/// Tensors on the CPU and on the GPU that take the same steps, as rank 1 of 3; the others send
/// something else.
class Twins {
 public:
  /// Gradients and means are of type `dtype`.
  Twins(const GpuApi& api, const GpuKernels& kernels, std::vector<GpuDenseTensor> tensors,
        DType dtype = DType::kFloat32)
      : api_(api), tensors_(std::move(tensors)), dtype_(dtype) {
    for (GpuDenseTensor& tensor : tensors_) {
      const std::vector<float> zeros(tensor.n);
      error_.push_back(std::make_unique<DeviceArray<float>>(api, zeros));
      u_.push_back(std::make_unique<DeviceArray<float>>(api, zeros));
      tensor.error = error_.back()->data();
      if (tensor.momentum != Momentum::kNone) tensor.u = u_.back()->data();
      cpu_.push_back(
          std::make_unique<DenseMomentum>(tensor.momentum, tensor.m, tensor.values, tensor.n));
    }
    gpu_ = kernels.make_dense_momentum(tensors_);
  }

  /// Encodes on both, and compares.
  void Encode(const std::vector<std::vector<float>>& values, float scale = 1.0f) {
    memory_.clear();
    payloads_.clear();
    std::vector<GpuBucketCompressor::Input> parts;
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      const Gradient gradient = MakeGradient(values[i], dtype_);
      payloads_.emplace_back(cpu_[i]->MaxEncodedBytes(1.0));
      cpu_[i]->Encode({.gradient_scale = scale}, gradient.values, payloads_[i]);
      const std::byte* const from = Upload(gradient.bytes).data();
      // At an odd place.
      DeviceArray<std::byte>& payload = Upload(std::vector<std::byte>(payloads_[i].size() + 1));
      parts.push_back(
          {.gradient = from, .dtype = dtype_, .scale = scale, .payload = payload.data() + 1});
    }
    gpu_->Encode(parts, nullptr);
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      std::vector<std::byte> written = memory_[2 * i + 1]->Values();
      written.erase(written.begin());
      ASSERT_EQ(written, payloads_[i]) << "tensor " << i;
    }
    Compare();
  }

  /// Merges what this rank and two others have sent, and compares.
  void Merge(Gradients& gradients) {
    std::vector<std::vector<GpuMean::Payload>> sent(tensors_.size());
    std::vector<GpuMean> means;
    std::vector<DeviceArray<std::byte>*> outs;
    std::vector<std::vector<std::byte>> wanted;
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      const GpuDenseTensor& tensor = tensors_[i];
      std::vector<std::vector<std::byte>> payloads;
      for (std::size_t rank = 0; rank < kRanks; ++rank) {
        payloads.push_back(payloads_[i]);
        if (rank == 1) continue;
        DenseMomentum(Momentum::kNone, 0.0f, tensor.values, tensor.n)
            .Encode({}, gradients.Of(tensor.n), payloads.back());
      }
      std::vector<float> mean(tensor.n);
      const std::vector<std::span<const std::byte>> spans(payloads.begin(), payloads.end());
      cpu_[i]->MergeMean(spans, mean);
      cpu_[i]->Finish({}, mean);
      wanted.push_back(MakeGradient(mean, dtype_).bytes);
      for (const std::vector<std::byte>& payload : payloads) {
        sent[i].push_back({Upload(payload).data(), static_cast<std::uint32_t>(tensor.n)});
      }
      outs.push_back(&Upload(std::vector<std::byte>(wanted[i].size())));
      means.push_back({.payloads = sent[i], .mean = outs.back()->data(), .dtype = dtype_});
    }
    gpu_->MergeMean(means, nullptr);
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      ASSERT_EQ(outs[i]->Values(), wanted[i]) << "mean of tensor " << i;
    }
    Compare();
  }

  void Undo() {
    for (const auto& compressor : cpu_) compressor->Revert();
    gpu_->Undo(nullptr);
    Compare();
  }

  void Forget() {
    for (const auto& compressor : cpu_) compressor->Restored();
    gpu_->Forget(nullptr);
  }

  void Compare() {
    gpu_->FetchReports(nullptr);
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      for (const Compressor::StateArray& array : cpu_[i]->State()) {
        DeviceArray<float>& of_gpu = array.name == "error" ? *error_[i] : *u_[i];
        ASSERT_EQ(BitsOf(of_gpu.Values()), BitsOf(array.values))
            << array.name << " of tensor " << i;
      }
      ASSERT_EQ(gpu_->ReportOf(i).non_finite, cpu_[i]->non_finite_entries()) << "tensor " << i;
    }
  }

  DenseMomentum& cpu(std::size_t i) { return *cpu_[i]; }

 private:
  DeviceArray<std::byte>& Upload(const std::vector<std::byte>& bytes) {
    memory_.push_back(std::make_unique<DeviceArray<std::byte>>(api_, bytes));
    return *memory_.back();
  }

  const GpuApi& api_;
  std::vector<GpuDenseTensor> tensors_;
  const DType dtype_;
  std::vector<std::unique_ptr<DeviceArray<float>>> u_;
  std::vector<std::unique_ptr<DeviceArray<float>>> error_;
  std::unique_ptr<GpuBucketCompressor> gpu_;
  std::vector<std::unique_ptr<DenseMomentum>> cpu_;
  std::vector<std::vector<std::byte>> payloads_;
  std::vector<std::unique_ptr<DeviceArray<std::byte>>> memory_;
};

class GpuDenseMomentumTest : public OnGpu<testing::Test> {
 protected:
  Twins Make(const std::vector<GpuDenseTensor>& tensors) { return {api(), kernels(), tensors}; }
};

struct Case {
  const char* name;
  GpuDenseTensor tensor;
  DType dtype = DType::kFloat32;
};

void PrintTo(const Case& one, std::ostream* out) { *out << one.name; }

class GpuDenseMomentumSteps : public OnGpu<testing::TestWithParam<Case>> {};

TEST_P(GpuDenseMomentumSteps, ManyHaveTheBitsOfTheCpu) {
  std::vector<GpuDenseTensor> tensors;
  for (const std::size_t n : {1u, 130u, 2049u}) {
    tensors.push_back(GetParam().tensor);
    tensors.back().n = n;
  }
  Twins twins(api(), kernels(), tensors, GetParam().dtype);
  Gradients gradients(31);
  for (int step = 0; step < kComparedSteps; ++step) {
    SCOPED_TRACE(step);
    twins.Encode(gradients.Of(tensors), 1.0f / static_cast<float>(1 + step % 3));
    if (HasFatalFailure()) return;
    twins.Merge(gradients);
    if (HasFatalFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Rules, GpuDenseMomentumSteps,
                         testing::Values(Case{"vanilla", {}},
                                         Case{"nesterov", {.momentum = Momentum::kNesterov}},
                                         Case{"without_momentum", {.momentum = Momentum::kNone}},
                                         Case{"fp32_values", {.values = ValueType::kFloat32}},
                                         Case{"fp16_gradients", {}, DType::kFloat16},
                                         Case{"bf16_gradients", {}, DType::kBFloat16}),
                         [](const auto& test) { return std::string(test.param.name); });

TEST_F(GpuDenseMomentumTest, CountsWhatIsNotFiniteAsZero) {
  const std::vector<GpuDenseTensor> tensors{{.n = 3000}, {.n = 100}};
  Twins twins = Make(tensors);
  Gradients gradients(32);
  std::vector<std::vector<float>> values = gradients.Of(tensors);
  values[0][17] = std::numeric_limits<float>::quiet_NaN();
  values[0][2999] = -std::numeric_limits<float>::infinity();
  values[1][99] = std::numeric_limits<float>::max();
  twins.Encode(values, 2.0f);
  EXPECT_EQ(twins.cpu(0).non_finite_entries(), 2u);
  EXPECT_EQ(twins.cpu(1).non_finite_entries(), 1u);
}

// Rest of the largest number after fp16, and that number once more.
TEST_F(GpuDenseMomentumTest, ClearsWhatHasOverflowed) {
  Twins twins = Make({{.n = 100}});
  const std::vector<float> largest(100, std::numeric_limits<float>::max());
  twins.Encode({largest});
  twins.Encode({largest});
  EXPECT_EQ(twins.cpu(0).non_finite_entries(), 100u);
}

TEST_F(GpuDenseMomentumTest, UndoPutsBackWhatWasSent) {
  const std::vector<GpuDenseTensor> tensors{{.n = 3000}, {.n = 100, .values = ValueType::kFloat32}};
  Twins twins = Make(tensors);
  Gradients gradients(33);
  for (int step = 0; step < 3; ++step) {
    twins.Encode(gradients.Of(tensors));
    twins.Undo();
    twins.Undo();  // There is nothing left to undo.
    if (HasFatalFailure()) return;
  }
  twins.Encode(gradients.Of(tensors));
  twins.Merge(gradients);
  twins.Forget();
  twins.Undo();  // Nor here.
}

TEST_F(GpuDenseMomentumTest, OnAMeanThatCameAsItIsHasTheBitsOfTheCpu) {
  for (const Momentum momentum : {Momentum::kVanilla, Momentum::kNesterov, Momentum::kNone}) {
    for (const DType dtype : {DType::kFloat32, DType::kFloat16, DType::kBFloat16}) {
      SCOPED_TRACE(std::string(Name(dtype)));
      constexpr std::size_t kEntries = 1234;
      std::vector<float> u(kEntries);
      DeviceArray<float> gpu_u(api(), u);
      DeviceArray<float> error(api(), std::vector<float>(kEntries));
      const GpuDenseTensor tensor{.n = kEntries,
                                  .u = momentum == Momentum::kNone ? nullptr : gpu_u.data(),
                                  .error = error.data(),
                                  .momentum = momentum};
      const auto gpu = kernels().make_dense_momentum({&tensor, 1});
      DeviceArray<std::byte> out(api(), kEntries * SizeOf(dtype));
      Gradients gradients(34);
      for (int step = 0; step < 5; ++step) {
        std::vector<float> mean = gradients.Of(kEntries);
        mean[7] = std::numeric_limits<float>::infinity();
        DeviceArray<float> gpu_mean(api(), mean);
        gpu->Finish(0, {.mean = gpu_mean.data(), .out = out.data(), .dtype = dtype}, nullptr);
        const bool none = momentum == Momentum::kNone;
        ApplyMomentum(momentum, 0.9f, none ? std::span<float>() : std::span<float>(u), mean);
        ASSERT_EQ(out.Values(), MakeGradient(mean, dtype).bytes);
        ASSERT_EQ(BitsOf(gpu_u.Values()), BitsOf(u));
      }
      gpu->FetchReports(nullptr);
      DeviceArray<float>(api(), 1).Values();  // Waits for it.
      EXPECT_EQ(gpu->ReportOf(0).non_finite, 5u);
    }
  }
}

}  // namespace
}  // namespace weir::dense_momentum_test
