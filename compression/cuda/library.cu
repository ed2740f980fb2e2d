// The entries of libweir_cuda.so (common/gpu_library.h, compression/gpu_kernels.h).
#include <cstdio>
#include <string>

#include "common/gpu_library.h"
#include "compression/cuda/kernels.h"
#include "compression/cuda/launch.h"
#include "compression/gpu_kernels.h"

namespace weir::cuda {
namespace {

/// "13.0" of CUDA's 13000.
std::string Version(int number) {
  return std::to_string(number / 1000) + "." + std::to_string(number % 1000 / 10);
}

int CountDevices(std::string& trouble) {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error == cudaSuccess && count > 0) return count;
  if (error == cudaSuccess || error == cudaErrorNoDevice) {
    trouble = "there is a driver, and no GPU that this process may use (CUDA_VISIBLE_DEVICES?)";
  } else if (error == cudaErrorInsufficientDriver) {
    int driver = 0;
    trouble = cudaDriverGetVersion(&driver) != cudaSuccess || driver == 0
                  ? "there is no NVIDIA driver"
                  : "the NVIDIA driver is one for CUDA " + Version(driver) +
                        ", and this was built with CUDA " + Version(CUDART_VERSION);
  } else {
    trouble = std::string("CUDA says: ") + cudaGetErrorString(error);
  }
  return 0;
}

std::string DescribeDevice(int device) {
  cudaDeviceProp properties{};
  Check(cudaGetDeviceProperties(&properties, device));
  char text[384];
  std::snprintf(text, sizeof text, "%s, compute capability %d.%d, %.1f GiB", properties.name,
                properties.major, properties.minor,
                static_cast<double>(properties.totalGlobalMem) / (1024.0 * 1024.0 * 1024.0));
  return text;
}

void* Allocate(std::size_t bytes) {
  void* memory = nullptr;
  Check(cudaMalloc(&memory, bytes));
  return memory;
}

void Release(void* memory) { Check(cudaFree(memory)); }

void Copy(void* to, const void* from, std::size_t bytes) {
  Check(cudaMemcpy(to, from, bytes, cudaMemcpyDefault));
}

constexpr GpuApi kApi{.version = GpuApi::kVersion,
                      .count_devices = CountDevices,
                      .describe_device = DescribeDevice,
                      .allocate = Allocate,
                      .release = Release,
                      .copy = Copy};
constexpr GpuKernels kKernels{.to_half = ToHalf,
                              .from_half = FromHalf,
                              .apply_momentum = ApplyMomentum,
                              .make_dgc = MakeDgc,
                              .make_dense_momentum = MakeDenseMomentum};

}  // namespace
}  // namespace weir::cuda

extern "C" const weir::GpuApi* weir_gpu_api() { return &weir::cuda::kApi; }
extern "C" const weir::GpuKernels* weir_gpu_kernels() { return &weir::cuda::kKernels; }
