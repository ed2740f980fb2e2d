#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "compression/cuda/codecs/codec_layout.h"
#include "compression/cuda/four.h"
#include "compression/memory/step_math.h"
#include "compression/momentum.h"

/// The memory around a codec (compression/memory/), on the way to the codec.
namespace weir::cuda {

__device__ inline float GradientAt(const CodecInput& part, std::size_t i) {
  return part.gradient == nullptr ? 0.0f : ValueAt(part.gradient, i, part.dtype);
}

/// Returns the codec's input for one gradient entry. Advances `momentum`; `error` is the old one.
__device__ inline float TakeEntry(const CodecTensor& tensor, const CodecInput& part, float gradient,
                                  float& momentum, float error, std::uint32_t& non_finite) {
  float value = FiniteOrZero(part.scale * gradient, non_finite);
  const GpuCodecRule& rule = tensor.rule;
  if (rule.memory == GpuCodecRule::Memory::kSignum) {
    AdvanceSignum(rule.mu, value, momentum);
    return momentum;
  }
  if (rule.memory == GpuCodecRule::Memory::kNesterov) {
    value = FiniteOrZero(AdvanceNesterov(rule.mu, value, momentum, non_finite), non_finite);
  }
  return rule.feedback ? WithError(value, part.ratio, error, non_finite) : value;
}

/// Memory and gradient of entries at, ..., at + 3; 0 beyond the tensor's end.
struct FourToTake {
  Four gradient{};
  Four momentum{};
  Four error{};
};
__device__ inline FourToTake LoadFour(const CodecTensor& tensor, const CodecInput& part,
                                      std::size_t at) {
  FourToTake four;
  four.gradient = LoadAny(part.gradient, part.dtype, at, tensor.n);
  if (tensor.momentum != nullptr) four.momentum = Load<Float32>(tensor.momentum, at, tensor.n);
  if (tensor.error != nullptr) four.error = Load<Float32>(tensor.error, at, tensor.n);
  return four;
}
/// Returns the codec's input for four entries. Leaves the error as it is.
__device__ inline Four TakeFour(const CodecTensor& tensor, const CodecInput& part, FourToTake four,
                                std::size_t at, std::uint32_t& non_finite) {
  Four values;
  for (unsigned i = 0; i < kFour; ++i) {
    std::uint32_t seen = 0;
    values.x[i] =
        TakeEntry(tensor, part, four.gradient.x[i], four.momentum.x[i], four.error.x[i], seen);
    if (at + i < tensor.n) non_finite += seen;  // A scale of inf makes NaN of the 0 beyond it.
  }
  if (tensor.momentum != nullptr) Store(four.momentum, tensor.momentum, at, tensor.n);
  return values;
}

/// Returns the codec's input for entry i, and stores it in the error, if there is one.
__device__ inline float TakeOne(const CodecTensor& tensor, const CodecInput& part, std::size_t i,
                                std::uint32_t& non_finite) {
  float momentum = tensor.momentum == nullptr ? 0.0f : tensor.momentum[i];
  const float error = tensor.error == nullptr ? 0.0f : tensor.error[i];
  const float value = TakeEntry(tensor, part, GradientAt(part, i), momentum, error, non_finite);
  if (tensor.momentum != nullptr) tensor.momentum[i] = momentum;
  if (tensor.error != nullptr) tensor.error[i] = value;
  return value;
}

/// Returns what TakeOne returned in this step.
__device__ inline float TakenOne(const CodecTensor& tensor, const CodecInput& part, std::size_t i) {
  if (tensor.error != nullptr) return tensor.error[i];
  const GpuCodecRule& rule = tensor.rule;
  if (rule.memory == GpuCodecRule::Memory::kSignum) return tensor.momentum[i];
  std::uint32_t counted = 0;
  const float value = FiniteOrZero(part.scale * GradientAt(part, i), counted);
  if (rule.memory == GpuCodecRule::Memory::kNone) return value;
  return FiniteOrZero(value + rule.mu * tensor.momentum[i], counted);
}

/// Adds a thread's non-finite entries to the tensor's count.
__device__ inline void CountNonFinite(const CodecView& view, std::uint32_t tensor,
                                      std::uint32_t entries) {
  if (entries == 0) return;
  atomicAdd(view.non_finite + tensor, static_cast<unsigned long long>(entries));
}

}  // namespace weir::cuda
