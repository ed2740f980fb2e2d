#include "benchmarks/gpu_bench.h"

#include <algorithm>
#include <iostream>
#include <vector>

#include "common/half.h"
#include "weir/settings.h"

namespace weir::bench {
namespace {

constexpr std::size_t kSlack = std::size_t{1} << 20;  // Room for a gradient's begin.
constexpr std::size_t kPeriod = 16 * kSlack;          // Size of the pool.
constexpr int kNotRun = 77;

}  // namespace

GpuGradients::GpuGradients(const Gpu& gpu, std::size_t n, DType dtype)
    : width_(SizeOf(dtype)), pool_(gpu, GpuMemory::Kind::kDevice, (n + kSlack) * width_) {
  const std::size_t period = std::min(kPeriod, n + kSlack);
  std::vector<std::byte> values(period * width_);
  std::normal_distribution<float> normal;
  for (std::size_t i = 0; i < period; ++i) {
    const float value = normal(random_);
    const std::uint16_t half = FloatToBFloat16(value);
    const void* const from = dtype == DType::kFloat32 ? static_cast<const void*>(&value) : &half;
    std::copy_n(static_cast<const std::byte*>(from), width_, values.data() + i * width_);
  }
  for (std::size_t at = 0; at < pool_.size(); at += values.size()) {
    gpu.api().copy(pool_.data() + at, values.data(), std::min(values.size(), pool_.size() - at));
  }
}

const void* GpuGradients::Next() { return pool_.data() + random_() % (kSlack / 16) * 16 * width_; }

int GpuMain(const std::string& name, CommandLine line, int argc, char** argv,
            const std::function<Report(const Gpu& gpu, const std::string& library)>& measure) {
  std::string path = Settings::FromEnvironment().gpu_library;
  line.options.push_back({"--library", &path, "libweir_cuda.so (WEIR_GPU_LIBRARY)"});
  int code = 0;
  const int measured = Main(line, argc, argv, [&]() -> std::optional<Report> {
    const GpuLibrary library = GpuLibrary::Load(path);
    const GpuSupport support = FindGpuSupport(library);
    if (!support.usable) {
      std::cerr << name << ": not run: " << support.text << '\n';
      code = kNotRun;
      return std::nullopt;
    }
    return measure(Gpu(library, 0), path);
  });
  return code != 0 ? code : measured;
}

}  // namespace weir::bench
