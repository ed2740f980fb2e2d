#include "common/half.h"
#include "compression/cuda/kernels.h"
#include "compression/cuda/launch.h"

namespace weir::cuda {
namespace {

/// out[i] = cast(in[i]).
template <auto kCast, typename In, typename Out>
__global__ void Cast(const In* in, Out* out, std::size_t n) {
  const std::size_t stride = std::size_t{blockDim.x} * gridDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += stride) {
    out[i] = kCast(in[i]);
  }
}

}  // namespace

void ToHalf(const float* values, std::uint16_t* halves, std::size_t n, DType half, void* stream) {
  const auto cast = half == DType::kFloat16 ? Cast<FloatToHalf, float, std::uint16_t>
                                            : Cast<FloatToBFloat16, float, std::uint16_t>;
  Launch(cast, BlocksFor(n), static_cast<cudaStream_t>(stream), values, halves, n);
}

void FromHalf(const std::uint16_t* halves, float* values, std::size_t n, DType half, void* stream) {
  const auto cast = half == DType::kFloat16 ? Cast<HalfToFloat, std::uint16_t, float>
                                            : Cast<BFloat16ToFloat, std::uint16_t, float>;
  Launch(cast, BlocksFor(n), static_cast<cudaStream_t>(stream), halves, values, n);
}

}  // namespace weir::cuda
