#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "common/gpu/gpu_library.h"
#include "compression/gpu/gpu_kernels.h"
#include "tests/paths.h"
#include "weir/device.h"
#include "weir/settings.h"

namespace weir {

/// The library under test: the emulated GPU's (tests/emulated_gpu/), or the one that was built.
inline std::string TestedGpuLibraryPath() {
#ifdef WEIR_TEST_EMULATED_GPU
  return BuildPath("lib/libweir_emulated_cuda.so");
#else
  return "";  // Settings::gpu_library.
#endif
}
inline Settings OnTestedGpu() {
  Settings settings;
  settings.gpu_library = TestedGpuLibraryPath();
  settings.nccl_library = TestedGpuLibraryPath();  // The emulated GPU's own.
  return settings;
}
inline const GpuLibrary& TestedGpuLibrary() {
  static const GpuLibrary library = GpuLibrary::Load(TestedGpuLibraryPath());
  return library;
}

/// Returns this GPU, or the last one.
inline Device TestedDevice(int index) {
  std::string trouble;
  return Device{std::min(index, TestedGpuLibrary().api()->count_devices(trouble) - 1)};
}

/// A fixture for tests that need a GPU: skipped, with the reason, if there is none.
/// The emulated one always exists.
template <typename Base>
class OnGpu : public Base {
 protected:
  void SetUp() override {
    const GpuSupport support = FindGpuSupport(TestedGpuLibrary());
#ifdef WEIR_TEST_EMULATED_GPU
    ASSERT_TRUE(support.usable) << support.text;
#endif
    if (!support.usable) GTEST_SKIP() << support.text;
  }
  const GpuApi& api() const { return *TestedGpuLibrary().api(); }
  const GpuKernels& kernels() const { return *KernelsOf(TestedGpuLibrary()); }
};

}  // namespace weir
