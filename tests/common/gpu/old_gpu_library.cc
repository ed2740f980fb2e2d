// A libweir_cuda.so of another version, for gpu_library_test.cc.
#include "common/gpu/gpu_library.h"

namespace {
constexpr weir::GpuApi kApi{.version = weir::GpuApi::kVersion + 1};
}  // namespace

extern "C" const weir::GpuApi* weir_gpu_api() { return &kApi; }
