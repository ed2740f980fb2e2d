// The mean of all ranks' payloads: the bits of Dgc::MergeMean, tensor by tensor.
#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "compression/dgc/dgc.h"
#include "compression/wire/sparse_payload.h"
#include "tests/gpu/gradients.h"
#include "tests/gpu/kernels/device_array.h"
#include "tests/gpu/tested_gpu.h"

namespace weir {
namespace {

constexpr std::byte kUntouched{0x5a};

/// One rank's payload of one tensor.
using Payload = std::vector<std::byte>;

DgcSettings SettingsOf(const GpuDgcTensor& tensor, bool gain_compensation = false) {
  DgcSettings settings;
  settings.rule = {.momentum = tensor.momentum, .m = tensor.m, .masking = tensor.masking};
  settings.values = tensor.values;
  settings.gain_compensation = gain_compensation;
  return settings;
}

class GpuSparseMerge : public OnGpu<testing::Test> {
 protected:
  /// Means are fp32, but for those whose type is given, by tensor.
  void Make(std::vector<GpuDgcTensor> tensors, std::vector<DType> dtypes = {}) {
    tensors_ = std::move(tensors);
    dtypes_ = std::move(dtypes);
    dtypes_.resize(tensors_.size(), DType::kFloat32);
    for (GpuDgcTensor& tensor : tensors_) {
      state_.push_back(std::make_unique<DeviceArray<float>>(api(), 2 * tensor.n + 4));
      float* const v = state_.back()->data();
      tensor.v = v;
      tensor.u = v + (tensor.n + 3) / 4 * 4;
    }
    gpu_ = kernels().make_dgc(tensors_);
  }

  /// Payloads of `ranks`, by tensor then rank.
  std::vector<std::vector<Payload>> Send(std::size_t ranks, double density) {
    std::vector<std::vector<Payload>> payloads;
    for (const GpuDgcTensor& tensor : tensors_) {
      payloads.emplace_back();
      for (std::size_t rank = 0; rank < ranks; ++rank) {
        Dgc dgc(SettingsOf(tensor), tensor.n);
        Payload& payload = payloads.back().emplace_back(dgc.MaxEncodedBytes(density));
        dgc.Encode({.density = density}, gradients_.Of(tensor.n), payload);
      }
    }
    return payloads;
  }

  /// Merges on the CPU and on the GPU, and compares. The payloads lie at odd places.
  void Compare(const std::vector<std::vector<Payload>>& payloads, double density,
               bool gain_compensation = false) {
    std::vector<std::unique_ptr<DeviceArray<std::byte>>> memory;
    std::vector<std::vector<GpuMean::Payload>> sent(tensors_.size());
    std::vector<GpuMean> means;
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      for (const Payload& payload : payloads[i]) {
        Payload shifted(1 + payload.size());
        std::ranges::copy(payload, shifted.begin() + 1);
        memory.push_back(std::make_unique<DeviceArray<std::byte>>(api(), shifted));
        if (payload.empty()) {
          sent[i].push_back({});
        } else {
          sent[i].push_back(
              {memory.back()->data() + 1, static_cast<std::uint32_t>(SparseEntryCount(payload))});
        }
      }
      const std::size_t bytes = tensors_[i].n * SizeOf(dtypes_[i]);
      memory.push_back(
          std::make_unique<DeviceArray<std::byte>>(api(), Payload(bytes + 1, kUntouched)));
      const GpuDgcTensor& tensor = tensors_[i];
      const double gain =
          gain_compensation ? MaskingGain(tensor.momentum, tensor.m, 1.0 / density) : 1.0;
      means.push_back({.payloads = sent[i],
                       .gain = static_cast<float>(gain),
                       .mean = memory.back()->data(),
                       .dtype = dtypes_[i]});
    }
    gpu_->MergeMean(means, nullptr);
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      Payload wanted = MeanOnCpu(i, payloads[i], density, gain_compensation);
      wanted.push_back(kUntouched);
      const std::size_t place = (payloads[i].size() + 1) * (i + 1) - 1;
      ASSERT_EQ(memory[place]->Values(), wanted) << "tensor " << i;
    }
  }

  Payload MeanOnCpu(std::size_t i, const std::vector<Payload>& payloads, double density,
                    bool gain_compensation) const {
    const GpuDgcTensor& tensor = tensors_[i];
    Dgc dgc(SettingsOf(tensor, gain_compensation), tensor.n);
    std::vector<float> mean(tensor.n);
    const std::vector<std::span<const std::byte>> spans(payloads.begin(), payloads.end());
    dgc.MergeMean(spans, mean);
    dgc.Finish({.density = density}, mean);
    return MakeGradient(mean, dtypes_[i]).bytes;
  }

  std::vector<GpuDgcTensor> tensors_;
  std::vector<DType> dtypes_;
  std::vector<std::unique_ptr<DeviceArray<float>>> state_;
  std::unique_ptr<GpuBucketCompressor> gpu_;
  Gradients gradients_{21};
};

TEST_F(GpuSparseMerge, HasTheBitsOfTheCpu) {
  Make(
      {{.n = 9000}, {.n = 1}, {.n = 4097}, {.n = 5000}, {.n = 8192, .values = ValueType::kFloat32}},
      {DType::kFloat32, DType::kFloat32, DType::kFloat16, DType::kBFloat16});
  // Elias-Fano codes, a bitmap, everything.
  for (const double density : {0.001, 0.05, 0.5, 1.0}) {
    for (const std::size_t ranks : {1u, 2u, 7u}) {
      SCOPED_TRACE(std::to_string(ranks) + " ranks, density " + std::to_string(density));
      Compare(Send(ranks, density), density);
      if (HasFatalFailure()) return;
    }
  }
}

TEST_F(GpuSparseMerge, OfMoreRanksThanABlockHasThreads) {
  Make({{.n = 5000}});
  Compare(Send(300, 0.01), 0.01);
}

TEST_F(GpuSparseMerge, CompensatesTheGain) {
  Make({{.n = 5000}, {.n = 300, .momentum = Momentum::kNesterov}},
       {DType::kFloat32, DType::kFloat16});
  Compare(Send(3, 0.01), 0.01, true);
}

TEST_F(GpuSparseMerge, CountsRanksThatSentNothing) {
  Make({{.n = 5000}, {.n = 100}});
  std::vector<std::vector<Payload>> payloads = Send(3, 0.01);
  payloads[0][1].clear();
  for (Payload& payload : payloads[1]) payload.clear();
  Compare(payloads, 0.01);
}

TEST_F(GpuSparseMerge, LeavesOutWhoseMeanIsNotWanted) {
  Make({{.n = 5000}, {.n = 300}});
  const std::vector<std::vector<Payload>> payloads = Send(1, 0.01);
  DeviceArray<std::byte> first(api(), payloads[0][0]);
  DeviceArray<std::byte> second(api(), payloads[1][0]);
  DeviceArray<float> mean(api(), 300);
  const GpuMean::Payload of_first{first.data(), 50};
  const GpuMean::Payload of_second{second.data(), 3};
  const GpuMean means[] = {{.payloads = {&of_first, 1}},
                           {.payloads = {&of_second, 1}, .mean = mean.data()}};
  gpu_->MergeMean(means, nullptr);
  EXPECT_EQ(MakeGradient(mean.Values(), DType::kFloat32).bytes,
            MeanOnCpu(1, payloads[1], 0.01, false));
}

}  // namespace
}  // namespace weir
