#include "compression/gpu/gpu_kernels.h"

namespace weir {

const GpuKernels* KernelsOf(const GpuLibrary& library) {
  using Entry = const GpuKernels* (*)();
  const auto entry = reinterpret_cast<Entry>(library.Find("weir_gpu_kernels"));
  return entry == nullptr ? nullptr : entry();
}

}  // namespace weir
