#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "compression/make_compressor.h"
#include "compression/memory/error_feedback.h"
#include "compression/options/registry.h"
#include "tests/gpu/gradients.h"
#include "tests/gpu/kernels/device_array.h"
#include "tests/gpu/tested_gpu.h"

namespace weir {

/// Tensors with a codec, on the CPU and on the GPU, that take the same steps.
class CodecTwins {
 public:
  using Bytes = std::vector<std::byte>;

  /// `options` apply to all of them.
  CodecTwins(const GpuApi& api, const GpuKernels& kernels, const CompressionOptions& options,
             std::vector<std::size_t> elements, DType dtype = DType::kFloat32)
      : api_(api), options_(options), elements_(std::move(elements)), dtype_(dtype) {
    std::vector<GpuCodecTensor> tensors;
    for (std::size_t i = 0; i < elements_.size(); ++i) {
      cpu_.push_back(MakeOne(i));
      state_.emplace_back();
      GpuCodecTensor tensor{.n = elements_[i],
                            .rule = std::get<GpuCodecRule>(cpu_[i]->gpu_rule().value())};
      for (const Compressor::StateArray& array : cpu_[i]->State()) {
        state_[i].push_back(
            std::make_unique<DeviceArray<float>>(api, std::vector<float>(elements_[i])));
        (array.name == "error" ? tensor.error : tensor.momentum) = state_[i].back()->data();
      }
      tensors.push_back(tensor);
    }
    gpu_ = kernels.make_codecs(tensors);
  }

  /// Takes one step and compares. `shift`: offset of gradients from a multiple of 16 bytes.
  void Encode(const std::vector<std::vector<float>>& values, const StepContext& context,
              std::size_t shift = 0) {
    memory_.clear();
    sent_.clear();
    std::vector<GpuBucketCompressor::Input> parts;
    for (std::size_t i = 0; i < elements_.size(); ++i) {
      const Gradient gradient = MakeGradient(values[i], dtype_);
      sent_.emplace_back(cpu_[i]->MaxEncodedBytes(context.density));
      sent_[i].resize(cpu_[i]->Encode(context, gradient.values, sent_[i]));
      Bytes bytes(shift * SizeOf(dtype_));
      bytes.insert(bytes.end(), gradient.bytes.begin(), gradient.bytes.end());
      const std::byte* const from = Upload(bytes).data() + shift * SizeOf(dtype_);
      Bytes untouched(sent_[i].size() + 1, kUntouched);
      parts.push_back({.gradient = from,
                       .dtype = dtype_,
                       .scale = context.gradient_scale,
                       .ratio = ErrorRatio(context),
                       .k = EntriesOf(i, context),
                       .step = context.step,
                       .rank = context.rank,
                       .payload = Upload(untouched).data()});
    }
    gpu_->Encode(parts, nullptr);
    for (std::size_t i = 0; i < elements_.size(); ++i) {
      Bytes wanted = sent_[i];
      wanted.push_back(kUntouched);  // Nothing is written after it.
      ASSERT_EQ(memory_[2 * i + 1]->Values(), wanted) << "payload of tensor " << i;
    }
    Compare();
  }

  /// Merges the payloads of this rank and two others, one of them empty, and compares.
  void Merge(Gradients& gradients, const StepContext& context) {
    std::vector<std::vector<Bytes>> payloads(elements_.size(), std::vector<Bytes>(4));
    for (std::size_t i = 0; i < elements_.size(); ++i) {
      payloads[i][1] = sent_[i];
      for (const std::size_t rank : {0, 3}) {
        Bytes& payload = payloads[i][rank];
        payload.resize(cpu_[i]->MaxEncodedBytes(context.density));
        payload.resize(MakeOne(i)->Encode(context, gradients.Of(elements_[i]), payload));
      }
    }
    MergePayloads(payloads, context);
  }
  /// Merges when no rank has sent anything.
  void MergeNothing() { MergePayloads(std::vector(elements_.size(), std::vector<Bytes>(2)), {}); }

  /// Finishes with dense means, which no codec handled.
  void Finish(const std::vector<std::vector<float>>& means) {
    for (std::size_t i = 0; i < elements_.size(); ++i) {
      std::vector<float> mean = means[i];
      DeviceArray<float> on_gpu(api_, mean);
      DeviceArray<std::byte> out(api_, elements_[i] * SizeOf(dtype_));
      gpu_->Finish(i, {.mean = on_gpu.data(), .out = out.data(), .dtype = dtype_}, nullptr);
      cpu_[i]->Finish({.dense_phase = true}, mean);
      ASSERT_EQ(out.Values(), MakeGradient(mean, dtype_).bytes) << "mean of tensor " << i;
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
    for (std::size_t i = 0; i < elements_.size(); ++i) {
      const std::vector<Compressor::StateArray> arrays = cpu_[i]->State();
      for (std::size_t a = 0; a < arrays.size(); ++a) {
        ASSERT_EQ(BitsOf(state_[i][a]->Values()), BitsOf(arrays[a].values))
            << arrays[a].name << " of tensor " << i;
      }
      DeviceArray<float>(api_, 1).Values();  // Waits for the reports.
      ASSERT_EQ(gpu_->ReportOf(i).non_finite, cpu_[i]->non_finite_entries()) << "tensor " << i;
    }
  }

  std::vector<std::vector<float>> Random(Gradients& gradients) const {
    std::vector<std::vector<float>> values;
    for (const std::size_t n : elements_) values.push_back(gradients.Of(n));
    return values;
  }
  Compressor& cpu(std::size_t i) { return *cpu_[i]; }
  /// Payload of the last Encode.
  const Bytes& sent(std::size_t i) const { return sent_[i]; }

 private:
  static constexpr auto kUntouched = std::byte{0x5a};

  std::unique_ptr<Compressor> MakeOne(std::size_t i) const {
    CompressionOptions options = options_;
    const auto& keys = FindCompressor(options.at("compressor")).options;
    if (std::ranges::find(keys, "min_elements", &OptionSpec::key) != keys.end()) {
      options.try_emplace("min_elements", "0");
    }
    return MakeCompressor(options, TensorSpec{"w" + std::to_string(i),
                                              Shape{static_cast<std::int64_t>(elements_[i])}});
  }
  std::size_t EntriesOf(std::size_t i, const StepContext& context) const {
    const std::optional<GpuRule> rule = cpu_[i]->gpu_rule();
    return EntriesToSend(elements_[i], context.density, std::get<GpuCodecRule>(*rule).fixed_count);
  }
  /// Payloads by tensor, then rank.
  void MergePayloads(const std::vector<std::vector<Bytes>>& payloads, const StepContext& context) {
    std::vector<std::vector<GpuMean::Payload>> placed(elements_.size());
    std::vector<GpuMean> means;
    std::vector<DeviceArray<std::byte>*> outs;
    std::vector<Bytes> wanted;
    for (std::size_t i = 0; i < elements_.size(); ++i) {
      std::vector<float> mean(elements_[i]);
      const std::vector<std::span<const std::byte>> spans(payloads[i].begin(), payloads[i].end());
      cpu_[i]->MergeMean(spans, mean);
      cpu_[i]->Finish(context, mean);
      wanted.push_back(MakeGradient(mean, dtype_).bytes);
      for (const Bytes& payload : payloads[i]) {
        GpuMean::Payload& one = placed[i].emplace_back();
        if (payload.empty()) continue;
        one = {Upload(payload).data(), static_cast<std::uint32_t>(EntriesOf(i, context))};
      }
      outs.push_back(&Upload(Bytes(wanted[i].size() + 1, kUntouched)));
      wanted.back().push_back(kUntouched);
      means.push_back({.payloads = placed[i], .mean = outs[i]->data(), .dtype = dtype_});
    }
    gpu_->MergeMean(means, nullptr);
    for (std::size_t i = 0; i < elements_.size(); ++i) {
      ASSERT_EQ(outs[i]->Values(), wanted[i]) << "mean of tensor " << i;
    }
    Compare();
  }
  DeviceArray<std::byte>& Upload(const Bytes& bytes) {
    memory_.push_back(std::make_unique<DeviceArray<std::byte>>(api_, bytes));
    return *memory_.back();
  }

  const GpuApi& api_;
  const CompressionOptions options_;
  const std::vector<std::size_t> elements_;
  const DType dtype_;
  std::vector<std::unique_ptr<Compressor>> cpu_;
  std::vector<std::vector<std::unique_ptr<DeviceArray<float>>>> state_;  ///< As in State.
  std::unique_ptr<GpuBucketCompressor> gpu_;
  std::vector<Bytes> sent_;
  std::vector<std::unique_ptr<DeviceArray<std::byte>>> memory_;
};

}  // namespace weir
