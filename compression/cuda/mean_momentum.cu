#include "compression/cuda/launch.h"
#include "compression/cuda/mean_momentum.h"
#include "compression/memory/state_rounding.h"

namespace weir::cuda {
namespace {

__global__ void __launch_bounds__(kThreads) ApplyMomentumKernel(MeanMomentum step) {
  const std::size_t stride = std::size_t{blockDim.x} * gridDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < step.n;
       i += stride) {
    float u = step.u == nullptr ? 0.0f : ValueAt(step.u, i, step.state);
    const float direction = Direction(step.momentum, step.m, step.mean[i], &u, step.non_finite);
    if (step.u != nullptr && step.state == DType::kFloat32) {
      static_cast<float*>(step.u)[i] = u;
    } else if (step.u != nullptr) {
      const std::uint32_t bits = RoundingBits(step.rounding, static_cast<std::uint32_t>(i));
      static_cast<std::uint16_t*>(step.u)[i] = RoundedAtRandom(u, BitsForMomentum(bits));
    }
    if (step.out != nullptr) SetValue(step.out, i, step.dtype, direction);
  }
}

}  // namespace

void LoadApplyMomentum() { Load(ApplyMomentumKernel); }

void ApplyMomentum(const MeanMomentum& step, cudaStream_t stream) {
  Launch(ApplyMomentumKernel, BlocksFor(step.n), stream, step);
}

}  // namespace weir::cuda
