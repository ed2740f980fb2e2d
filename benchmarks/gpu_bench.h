#pragma once

#include <cstddef>
#include <functional>
#include <random>
#include <string>

#include "benchmarks/main.h"
#include "common/gpu/gpu.h"
#include "common/gpu/gpu_memory.h"
#include "weir/dtype.h"

namespace weir::bench {

/// Normally distributed gradients of a tensor, on the GPU. They look new in every step, because
/// they are windows at random places of a pool.
class GpuGradients {
 public:
  GpuGradients(const Gpu& gpu, std::size_t n, DType dtype);

  /// Returns a gradient at a multiple of 16 bytes, as a framework's are.
  const void* Next();

 private:
  std::mt19937 random_{20180401};
  const std::size_t width_;
  GpuMemory pool_;
};

/// Main function of a benchmark on the first GPU: adds --library to the options of `line`. Without
/// a GPU it says why, and returns 77.
int GpuMain(const std::string& name, CommandLine line, int argc, char** argv,
            const std::function<Report(const Gpu& gpu, const std::string& library)>& measure);

}  // namespace weir::bench
