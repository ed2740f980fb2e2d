#include <memory>
#include <string>
#include <vector>

#include "benchmarks/gpu_bench.h"
#include "benchmarks/model_shapes.h"
#include "benchmarks/report.h"
#include "common/gpu/gpu_stream.h"
#include "compression/gpu/gpu_kernels.h"
#include "compression/wire/sparse_payload.h"
#include "weir/engine.h"

/// A step of Deep Gradient Compression of all of ResNet-50's tensors on a GPU, through the engine
/// of one rank: submitted, negotiated, compressed, exchanged, merged, waited for. Compared with one
/// fused pass, the kernels alone, over a single tensor of as many elements.
namespace weir::bench {
namespace {

constexpr double kDensity = 0.001;
/// Time an engine may add to the pass; the step may also take a third more than the pass.
constexpr double kAllowanceUs = 60.0;

struct Options {
  int rounds = 41;
  int warmup_steps = 200;
};

/// The kernels alone.
class Pass {
 public:
  Pass(const Gpu& gpu, std::size_t n)
      : k_(EntriesToSend(n, kDensity)),
        stream_(gpu),
        gradients_(gpu, n, DType::kFloat32),
        state_(gpu, GpuMemory::Kind::kDevice, 2 * Rounded(n) * sizeof(float)),
        payload_(gpu, GpuMemory::Kind::kDevice, SparsePayloadBytes(n, k_, ValueType::kFloat16)) {
    gpu.api().clear(state_.data(), state_.size());
    auto* const u = reinterpret_cast<float*>(state_.data());
    const GpuDgcTensor tensor{.n = n, .u = u, .v = u + Rounded(n)};
    dgc_ = KernelsOf(gpu.library())->make_dgc({&tensor, 1});
  }
  void operator()() {
    const GpuBucketCompressor::Input part{
        .gradient = gradients_.Next(), .k = k_, .payload = payload_.data()};
    dgc_->Encode({&part, 1}, stream_.handle());
    stream_.Await();
  }

 private:
  static std::size_t Rounded(std::size_t n) { return (n + 3) / 4 * 4; }
  const std::size_t k_;
  GpuStream stream_;
  GpuGradients gradients_;
  GpuMemory state_;
  GpuMemory payload_;
  std::unique_ptr<GpuBucketCompressor> dgc_;
};

/// The engine's step.
class Training {
 public:
  Training(const Gpu& gpu, Engine& engine) : stream_(gpu) {
    GradientGroupSpec spec{
        .name = "resnet50",
        .compression = {{"compressor", "dgc"}, {"density", "0.001"}, {"policy", "always"}}};
    for (const NamedShape& tensor : ResNet50()) {
      const auto n = static_cast<std::size_t>(tensor.shape.elements());
      gradients_.push_back(std::make_unique<GpuGradients>(gpu, n, DType::kFloat32));
      updates_.emplace_back(gpu, GpuMemory::Kind::kDevice, n * sizeof(float));
      spec.tensors.push_back(
          {.name = tensor.name, .shape = tensor.shape, .device = {gpu.device()}});
    }
    group_ = engine.Register(spec);
  }
  void operator()() {
    const float rate = 0.1f;
    void* const stream = stream_.handle();
    const std::vector<GradientSpec>& tensors = group_->spec().tensors;
    group_->BeginStep({.learning_rates = {&rate, 1}, .stream = stream});
    for (std::size_t t = 0; t < tensors.size(); ++t) {
      group_->Submit(
          t, {gradients_[t]->Next(), DType::kFloat32, tensors[t].shape, tensors[t].device, stream},
          {updates_[t].data(), DType::kFloat32, tensors[t].shape, tensors[t].device, stream});
    }
    group_->EndStep();
    group_->WaitStep();
  }

 private:
  GpuStream stream_;
  std::vector<std::unique_ptr<GpuGradients>> gradients_;
  std::vector<GpuMemory> updates_;
  std::unique_ptr<GradientGroup> group_;
};

void MeasureOver(GpuTransport transport, const Gpu& gpu, const std::string& library,
                 const Options& options, Report& report) {
  Settings settings;
  settings.gpu_library = library;
  settings.gpu_transport = transport;
  RunLocal(
      1,
      [&](Engine& engine) {
        const GpuScope scope(gpu);
        Training training(gpu, engine);
        const auto elements = static_cast<std::size_t>(Elements(ResNet50()));
        Pass pass(gpu, elements);
        for (int step = 0; step < options.warmup_steps; ++step) {
          training();
          pass();
        }
        const auto seconds = Interleave(options.rounds, {[&] { pass(); }, [&] { training(); }});
        const double pass_us = Median(seconds[0]) * 1e6;
        const double step_us = Median(seconds[1]) * 1e6;
        const std::string name = transport == GpuTransport::kNccl ? "nccl" : "mpi-staged";
        report.AddRow({{"gpu", gpu.api().describe_device(gpu.device())},
                       {"transport", name},
                       {"elements", elements},
                       {"pass_us", pass_us},
                       {"step_us", step_us},
                       {"allowed_us", 1.3 * pass_us + kAllowanceUs}});
        report.AddTarget("step / (1.3 x pass + 60 us), " + name,
                         step_us / (1.3 * pass_us + kAllowanceUs), "<=", 1.0);
      },
      settings);
}

Report Measure(const Gpu& gpu, const std::string& library, const Options& options) {
  Report report("small-gpu");
  for (const GpuTransport transport : {GpuTransport::kNccl, GpuTransport::kMpiStaged}) {
    MeasureOver(transport, gpu, library, options, report);
  }
  return report;
}

}  // namespace
}  // namespace weir::bench

int main(int argc, char** argv) {
  weir::bench::Options options;
  return weir::bench::GpuMain(
      "small-gpu",
      {.text = "A step of ResNet-50's gradients on a GPU through the engine, at one rank.",
       .options = {{"--warmup", &options.warmup_steps, "steps before the measured ones"},
                   {"--rounds", &options.rounds, "measured steps"}}},
      argc, argv, [&](const weir::Gpu& gpu, const std::string& library) {
        return weir::bench::Measure(gpu, library, options);
      });
}
