#include <algorithm>
#include <cmath>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "benchmarks/gpu_bench.h"
#include "benchmarks/report.h"
#include "common/gpu/gpu_memory.h"
#include "common/gpu/gpu_stream.h"
#include "compression/gpu/gpu_kernels.h"
#include "compression/wire/sparse_payload.h"

/// Speed of the fused DGC step of one tensor on a GPU, payload and masking included, against the
/// GPU's own copy of memory: a step must read the gradient, u and v and write u and v. Figures are
/// medians over interleaved rounds, and ratios are taken round by round.
namespace weir::bench {
namespace {

constexpr double kDensity = 0.001;
constexpr std::size_t kMebi = std::size_t{1} << 20;
constexpr std::size_t kElementsATiming = 64 * kMebi;

struct Options {
  std::vector<std::size_t> elements = {kMebi, 16 * kMebi, 64 * kMebi, 256 * kMebi, 1024 * kMebi};
  int warmup_steps = 200;
  int rounds = 15;
};

/// Bytes that a step must move for each element.
double StepBytes(DType dtype, DType state) {
  return static_cast<double>(SizeOf(dtype) + 4 * SizeOf(state));
}

class Bench {
 public:
  /// `state`: type of u and v.
  Bench(const Gpu& gpu, std::size_t n, DType dtype, DType state)
      : n_(n),
        dtype_(dtype),
        k_(EntriesToSend(n, kDensity)),
        stream_(gpu),
        gradients_(gpu, n, dtype),
        state_(gpu, GpuMemory::Kind::kDevice,
               2 * Rounded(n) * sizeof(float)),  // Room for the copies.
        copy_(gpu, GpuMemory::Kind::kDevice, n * sizeof(float)),
        payload_(gpu, GpuMemory::Kind::kDevice, SparsePayloadBytes(n, k_, ValueType::kFloat16)) {
    gpu.api().clear(state_.data(), state_.size());
    const GpuDgcTensor tensor{.n = n,
                              .u = state_.data(),
                              .v = state_.data() + Rounded(n) * SizeOf(state),
                              .state = state};
    dgc_ = KernelsOf(gpu.library())->make_dgc({&tensor, 1});
  }

  ~Bench() {
    if (graph_ != nullptr) stream_.gpu().api().release_graph(graph_);
  }

  void Steps(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      scale_ *= std::exp(0.02f * drift_(random_));
      Give();
      stream_.Await();  // The engine does the same.
    }
  }
  /// Runs the same step repeatedly, with its launches as one graph.
  void Graphs(std::size_t count) {
    const GpuApi& api = stream_.gpu().api();
    if (graph_ == nullptr) {
      graph_ = api.capture(
          stream_.handle(), [](void* self) { static_cast<Bench*>(self)->Give(); }, this);
    }
    for (std::size_t i = 0; i < count; ++i) {
      api.launch(graph_, stream_.handle());
      stream_.Await();
    }
  }
  /// Fraction of so many steps whose threshold did not fit, so that v was read again.
  double RereadShare(int count) {
    int reread = 0;
    for (int i = 0; i < count; ++i) {
      Steps(1);
      dgc_->FetchReports(stream_.handle());
      stream_.Await();
      reread += dgc_->ReportOf(0).reread ? 1 : 0;
    }
    return static_cast<double>(reread) / count;
  }
  /// Reads and writes 8 bytes an element in total.
  void Copies(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      stream_.Copy(copy_.data(), state_.data(), copy_.size());
      stream_.Await();
    }
  }
  std::size_t Repeats() const { return std::max<std::size_t>(1, kElementsATiming / n_); }

 private:
  void Give() {
    const GpuBucketCompressor::Input part{.gradient = gradients_.Next(),
                                          .dtype = dtype_,
                                          .scale = scale_,
                                          .k = k_,
                                          .payload = payload_.data()};
    dgc_->Encode({&part, 1}, stream_.handle());
  }
  /// u and v begin at multiples of 16 bytes.
  static std::size_t Rounded(std::size_t n) { return (n + 7) / 8 * 8; }

  const std::size_t n_;
  const DType dtype_;
  const std::size_t k_;
  GpuStream stream_;
  GpuGradients gradients_;
  GpuMemory state_;  ///< u, then v.
  GpuMemory copy_;
  GpuMemory payload_;
  std::unique_ptr<GpuBucketCompressor> dgc_;
  std::mt19937 random_{7};
  std::normal_distribution<float> drift_;
  float scale_ = 1.0f;
  void* graph_ = nullptr;
};

void MeasureOne(const Gpu& gpu, const Options& options, std::size_t n, DType dtype, DType state,
                Report& report) {
  Bench bench(gpu, n, dtype, state);
  bench.Steps(static_cast<std::size_t>(options.warmup_steps));
  const std::size_t repeats = bench.Repeats();
  const auto seconds =
      Interleave(options.rounds, {[&] { bench.Copies(repeats); }, [&] { bench.Steps(repeats); },
                                  [&] { bench.Graphs(repeats); }});
  const auto each = [&](std::size_t series) {
    return Median(seconds[series]) / static_cast<double>(repeats);
  };
  const double elements = static_cast<double>(n);
  const double bytes = StepBytes(dtype, state);
  // Fraction of the copy's bandwidth that a step with minimal traffic reaches.
  const double share = bytes / 8.0 / MedianRatio(seconds[1], seconds[0]);
  report.AddRow({{"gpu", gpu.api().describe_device(gpu.device())},
                 {"elements", n},
                 {"gradients", std::string(Name(dtype))},
                 {"state", std::string(Name(state))},
                 {"step_us", each(1) * 1e6},
                 {"graph_us", each(2) * 1e6},
                 {"step_gb_per_s", elements * bytes / each(1) * 1e-9},
                 {"copy_gb_per_s", elements * 8.0 / each(0) * 1e-9},
                 {"reread_share", bench.RereadShare(options.rounds)},
                 {"share_of_copy", share}});
  if (state != DType::kFloat32) return;
  const std::string count = n >= kMebi ? std::to_string(n / kMebi) + " Mi" : std::to_string(n);
  const std::string what = count + " elements, " + std::string(Name(dtype));
  report.AddTarget("share of the copy's bandwidth, " + what, share, ">=", 0.85);
}

Report Measure(const Gpu& gpu, const Options& options) {
  const GpuScope scope(gpu);
  Report report("dgc-step-gpu");
  for (const std::size_t n : options.elements) {
    for (const DType dtype : {DType::kFloat32, DType::kBFloat16}) {
      for (const DType state : {DType::kFloat32, DType::kBFloat16}) {
        MeasureOne(gpu, options, n, dtype, state, report);
      }
    }
  }
  return report;
}

}  // namespace
}  // namespace weir::bench

int main(int argc, char** argv) {
  weir::bench::Options options;
  return weir::bench::GpuMain(
      "dgc-step-gpu",
      {.text = "The fused compression step on a GPU.",
       .options = {{"--elements", &options.elements, "of the tensor; several, one after the other"},
                   {"--warmup", &options.warmup_steps, "steps before the measured ones"},
                   {"--rounds", &options.rounds, "of each size"}}},
      argc, argv,
      [&](const weir::Gpu& gpu, const std::string&) { return weir::bench::Measure(gpu, options); });
}
