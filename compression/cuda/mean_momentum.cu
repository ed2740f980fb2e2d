#include "compression/cuda/launch.h"
#include "compression/cuda/mean_momentum.h"

namespace weir::cuda {
namespace {

__global__ void __launch_bounds__(kThreads) ApplyMomentumKernel(MeanMomentum step) {
  const std::size_t stride = std::size_t{blockDim.x} * gridDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < step.n;
       i += stride) {
    const float direction = Direction(step.momentum, step.m, step.mean[i],
                                      step.u == nullptr ? nullptr : step.u + i, step.non_finite);
    if (step.out != nullptr) SetValue(step.out, i, step.dtype, direction);
  }
}

}  // namespace

void ApplyMomentum(const MeanMomentum& step, cudaStream_t stream) {
  Launch(ApplyMomentumKernel, BlocksFor(step.n), stream, step);
}

}  // namespace weir::cuda
