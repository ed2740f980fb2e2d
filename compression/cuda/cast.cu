#include "common/half.h"
#include "compression/cuda/cast.h"
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

template <auto kCast, typename In, typename Out>
std::string Launch(const In* in, Out* out, std::size_t n, void* stream) {
  if (n == 0) return {};
  Cast<kCast><<<BlocksFor(n), kThreads, 0, static_cast<cudaStream_t>(stream)>>>(in, out, n);
  return TroubleOf(cudaGetLastError());
}

}  // namespace

std::string ToHalf(const float* values, std::uint16_t* halves, std::size_t n, DType half,
                   void* stream) {
  return half == DType::kFloat16 ? Launch<FloatToHalf>(values, halves, n, stream)
                                 : Launch<FloatToBFloat16>(values, halves, n, stream);
}

std::string FromHalf(const std::uint16_t* halves, float* values, std::size_t n, DType half,
                     void* stream) {
  return half == DType::kFloat16 ? Launch<HalfToFloat>(halves, values, n, stream)
                                 : Launch<BFloat16ToFloat>(halves, values, n, stream);
}

}  // namespace weir::cuda
