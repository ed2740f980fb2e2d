#include <algorithm>
#include <iterator>
#include <stdexcept>
#include <vector>

#include "compression/cuda/codecs/codec_bucket.h"
#include "compression/cuda/codecs/codec_memory.h"
#include "compression/cuda/kernels.h"
#include "compression/cuda/launch.h"

namespace weir::cuda {
namespace {

__global__ void __launch_bounds__(kThreads)
    FinishKernel(CodecTensor tensor, GpuBucketCompressor::DenseMean dense,
                 unsigned long long* non_finite) {
  const std::size_t stride = std::size_t{blockDim.x} * gridDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < tensor.n;
       i += stride) {
    float value = dense.mean[i];
    if (tensor.momentum != nullptr) {
      const GpuCodecRule& rule = tensor.rule;
      std::uint32_t counted = 0;
      value = FiniteOrZero(value, counted);
      if (rule.memory == GpuCodecRule::Memory::kSignum) {
        AdvanceSignum(rule.mu, value, tensor.momentum[i]);
        value = SignOf(tensor.momentum[i]);
      } else {
        value = AdvanceNesterov(rule.mu, value, tensor.momentum[i], counted);
      }
      if (counted != 0) atomicAdd(non_finite, static_cast<unsigned long long>(counted));
    }
    if (dense.out != nullptr) SetValue(dense.out, i, dense.dtype, value);
  }
}

}  // namespace

std::vector<std::size_t> ElementsOf(std::span<const GpuCodecTensor> tensors) {
  std::vector<std::size_t> elements;
  std::ranges::transform(tensors, std::back_inserter(elements), &GpuCodecTensor::n);
  return elements;
}

CodecBucket::CodecBucket(std::span<const GpuCodecTensor> tensors)
    : tensors_(tensors.size()),
      parts_(tensors.size()),
      targets_(tensors.size()),
      non_finite_(tensors.size()),
      tiles_(ElementsOf(tensors), kCodecTile),
      first_tiles_(tiles_.FirstOfEach()) {
  std::ranges::transform(tensors, tensors_.host().begin(), [](const GpuCodecTensor& tensor) {
    return CodecTensor{tensor.momentum, tensor.error, tensor.n, tensor.rule};
  });
  tensors_.Upload(nullptr);
  non_finite_.Clear(nullptr);
  Check(cudaStreamSynchronize(nullptr));  // The next work may be in another stream.
  Load(FinishKernel);
}

CodecView CodecBucket::View() const {
  return {.tensors = tensors_.device(),
          .parts = parts_.device(),
          .non_finite = non_finite_.device(),
          .tiles = tiles_.device(),
          .tile_count = tiles_.size(),
          .first_tiles = first_tiles_.device(),
          .tensor_count = tensors_.size()};
}

void CodecBucket::CheckCount(std::size_t count) const {
  if (count != tensors_.size()) throw std::runtime_error("not one part for each tensor");
}

void CodecBucket::Encode(std::span<const Input> inputs, void* stream) {
  const auto in = static_cast<cudaStream_t>(stream);
  CheckCount(inputs.size());
  sent_ = false;  // A step that fails has sent nothing.
  std::ranges::transform(inputs, parts_.host().begin(), [](const Input& part) {
    return CodecInput{.gradient = part.gradient,
                      .dtype = part.dtype,
                      .scale = part.scale,
                      .ratio = part.ratio,
                      .k = static_cast<std::uint32_t>(part.k),
                      .step = part.step,
                      .rank = part.rank,
                      .payload = part.payload};
  });
  parts_.Upload(in);
  Send(View(), inputs, in);
  sent_ = true;
}

void CodecBucket::Undo(void* stream) {
  if (!sent_) return;
  PutBack(View(), static_cast<cudaStream_t>(stream));
  sent_ = false;
}

void CodecBucket::ReserveMerge(std::span<const std::size_t> entries, std::size_t ranks,
                               void* stream) {
  CheckCount(entries.size());
  payloads_.Reserve(entries.size(), ranks, static_cast<cudaStream_t>(stream));
  Reserve(entries, ranks, static_cast<cudaStream_t>(stream));
}

void CodecBucket::MergeMean(std::span<const GpuMean> means, void* stream) {
  const auto in = static_cast<cudaStream_t>(stream);
  CheckCount(means.size());
  payloads_.Set(means, in);
  std::ranges::transform(means, targets_.host().begin(), [](const GpuMean& mean) {
    return CodecMean{mean.mean, mean.dtype};
  });
  targets_.Upload(in);
  Merge(View(), {targets_.device(), payloads_.device(), payloads_.ranks()}, means, in);
}

void CodecBucket::Finish(std::size_t i, const DenseMean& mean, void* stream) {
  Launch(FinishKernel, BlocksFor(tensor(i).n), static_cast<cudaStream_t>(stream), tensor(i), mean,
         non_finite_.device() + i);
}

void CodecBucket::Forget(void*) { sent_ = false; }

void CodecBucket::FetchReports(void* stream) {
  non_finite_.Download(static_cast<cudaStream_t>(stream));
}

GpuBucketCompressor::Report CodecBucket::ReportOf(std::size_t tensor) const {
  return {.non_finite = non_finite_.host()[tensor]};
}

std::unique_ptr<GpuBucketCompressor> MakeCodecs(std::span<const GpuCodecTensor> tensors) {
  switch (tensors.front().rule.codec) {
    case GpuCodecRule::Codec::kCast:
      return MakeCast(tensors);
    case GpuCodecRule::Codec::kOneBit:
      return MakeOneBit(tensors);
    case GpuCodecRule::Codec::kInt8:
      return MakeInt8(tensors);
    case GpuCodecRule::Codec::kTopK:
      return MakeTopK(tensors);
    case GpuCodecRule::Codec::kRandomK:
      return MakeRandomK(tensors);
    case GpuCodecRule::Codec::kLevels:
      return MakeLevels(tensors);
  }
  throw std::runtime_error("a codec that no kernel does");
}

}  // namespace weir::cuda
