#include <algorithm>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "benchmarks/gpu_bench.h"
#include "benchmarks/report.h"
#include "common/gpu/gpu_memory.h"
#include "common/gpu/gpu_stream.h"
#include "compression/gpu/gpu_compressor.h"
#include "compression/gpu/gpu_kernels.h"
#include "compression/make_compressor.h"
#include "compression/options/registry.h"

/// Speed of each codec's kernels that encode one tensor and merge the payloads of four ranks,
/// against the GPU's own copy of memory: the bytes that they must touch, at the copy's bandwidth.
/// Figures are medians over interleaved rounds, and ratios are taken round by round.
namespace weir::bench {
namespace {

constexpr double kDensity = 0.001;
constexpr std::size_t kRanks = 4;
constexpr double kShare = 0.7;

struct Options {
  std::size_t elements = std::size_t{64} << 20;
  int warmup_steps = 20;
  int rounds = 15;
};

/// Codecs that have kernels.
std::vector<CompressionOptions> Codecs() {
  return {{{"compressor", "fp16"}},
          {{"compressor", "bf16"}},
          {{"compressor", "int8"}},
          {{"compressor", "onebit"}, {"scaling", "true"}},
          {{"compressor", "signum"}},
          {{"compressor", "topk"}},
          {{"compressor", "randomk"}},
          {{"compressor", "dithering"}, {"coding", "packed"}},
          {{"compressor", "dithering"}, {"coding", "packed"}, {"normalize", "l2"}},
          {{"compressor", "dithering"}},
          {{"compressor", "dithering"}, {"normalize", "l2"}},
          {{"compressor", "terngrad"}},
          {{"compressor", "quant3"}}};
}

/// Bytes that encoding must touch for each element, except the payload.
double EncodeBytes(const GpuCodecRule& rule) {
  using Codec = GpuCodecRule::Codec;
  const double memory = 8.0;  // To read and to write.
  double bytes = sizeof(float);
  if (rule.memory != GpuCodecRule::Memory::kNone) bytes += memory;
  if (rule.feedback) bytes += memory;
  // Every sent value depends on all values, which needs a second pass.
  if (rule.codec == Codec::kLevels) bytes += rule.feedback ? memory : sizeof(float);
  // So does the rest that is kept.
  if (rule.codec == Codec::kOneBit && rule.feedback) bytes += memory;
  return bytes;
}

class Bench {
 public:
  Bench(const Gpu& gpu, std::size_t n, const CompressionOptions& options)
      : n_(n),
        compressor_(MakeCompressor(options, {"w", Shape{static_cast<std::int64_t>(n)}}), n, gpu),
        payload_room_(NextLine(compressor_.MaxEncodedBytes(kDensity))),
        stream_(gpu),
        gradients_(gpu, n, DType::kFloat32),
        payloads_(gpu, GpuMemory::Kind::kDevice, kRanks * payload_room_),
        mean_(gpu, GpuMemory::Kind::kDevice, n * sizeof(float)),
        copy_(gpu, GpuMemory::Kind::kDevice, n * sizeof(float)) {
    const GpuCompressor* const one = &compressor_;
    codec_ = MakeBucketOf(*KernelsOf(gpu.library()), {&one, 1});
    for (std::size_t rank = 0; rank < kRanks; ++rank) {
      received_.push_back({payloads_.data() + rank * payload_room_,
                           static_cast<std::uint32_t>(compressor_.EntriesAt(kDensity))});
    }
  }

  const GpuCodecRule& rule() const { return std::get<GpuCodecRule>(compressor_.rule()); }
  /// Size of the last encoded payload.
  std::size_t payload_bytes() {
    std::vector<std::byte> room(compressor_.MaxEncodedBytes(kDensity));
    stream_.Copy(room.data(), payloads_.data(), room.size());
    stream_.Await();
    return compressor_.EncodedBytes(room);
  }

  void Encode() {
    const GpuBucketCompressor::Input part{.gradient = gradients_.Next(),
                                          .k = compressor_.EntriesAt(kDensity),
                                          .payload = payloads_.data()};
    codec_->Encode({&part, 1}, stream_.handle());
    stream_.Await();  // The engine does the same.
  }
  /// Copies the last payload to all ranks, each to memory of its own.
  void Share() {
    for (std::size_t rank = 1; rank < kRanks; ++rank) {
      stream_.Copy(payloads_.data() + rank * payload_room_, payloads_.data(), payload_room_);
    }
    stream_.Await();
  }
  void Merge() {
    const GpuMean mean{.payloads = received_, .mean = mean_.data()};
    codec_->MergeMean({&mean, 1}, stream_.handle());
    stream_.Await();
  }
  /// Reads and writes 8 bytes an element in total.
  void Copy() {
    stream_.Copy(copy_.data(), mean_.data(), n_ * sizeof(float));
    stream_.Await();
  }

 private:
  const std::size_t n_;
  GpuCompressor compressor_;
  const std::size_t payload_room_;
  GpuStream stream_;
  GpuGradients gradients_;
  GpuMemory payloads_;
  GpuMemory mean_;
  GpuMemory copy_;
  std::unique_ptr<GpuBucketCompressor> codec_;
  std::vector<GpuMean::Payload> received_;
};

std::string NameOf(const CompressionOptions& options) {
  std::string name = options.at("compressor");
  if (options.contains("coding")) name += " " + options.at("coding");
  if (options.contains("normalize")) name += " " + options.at("normalize");
  if (options.contains("ef")) name += " ef";
  return name;
}

void MeasureOne(const Gpu& gpu, const Options& options, const CompressionOptions& codec,
                Report& report) {
  Bench bench(gpu, options.elements, codec);
  for (int step = 0; step < options.warmup_steps; ++step) bench.Encode();
  bench.Share();
  const auto seconds = Interleave(
      options.rounds, {[&] { bench.Copy(); }, [&] { bench.Encode(); }, [&] { bench.Merge(); }});
  const auto n = static_cast<double>(options.elements);
  const auto payload = static_cast<double>(bench.payload_bytes());
  const double copied = 8.0 * n;
  // Fraction of the copy's bandwidth that work with minimal traffic reaches.
  const auto share_of = [&](double bytes, std::size_t series) {
    return bytes / copied / MedianRatio(seconds[series], seconds[0]);
  };
  const double encode = share_of(n * EncodeBytes(bench.rule()) + payload, 1);
  const double merge = share_of(n * sizeof(float) + static_cast<double>(kRanks) * payload, 2);
  const std::string name = NameOf(codec);
  report.AddRow({{"gpu", gpu.api().describe_device(gpu.device())},
                 {"codec", name},
                 {"elements", options.elements},
                 {"encode_us", Median(seconds[1]) * 1e6},
                 {"merge_us", Median(seconds[2]) * 1e6},
                 {"copy_gb_per_s", copied / Median(seconds[0]) * 1e-9},
                 {"encode_share_of_copy", encode},
                 {"merge_share_of_copy", merge}});
  report.AddTarget("share of the copy's bandwidth, " + name + " encodes", encode, ">=", kShare);
  report.AddTarget("share of the copy's bandwidth, " + name + " merges", merge, ">=", kShare);
}

Report Measure(const Gpu& gpu, const Options& options) {
  const GpuScope scope(gpu);
  Report report("codecs-gpu");
  for (const CompressionOptions& codec : Codecs()) {
    MeasureOne(gpu, options, codec, report);
    const auto& keys = FindCompressor(codec.at("compressor")).options;
    if (std::ranges::find(keys, "ef", &OptionSpec::key) == keys.end()) continue;
    CompressionOptions with_feedback = codec;
    with_feedback["ef"] = "vanilla";
    MeasureOne(gpu, options, with_feedback, report);
  }
  return report;
}

}  // namespace
}  // namespace weir::bench

int main(int argc, char** argv) {
  weir::bench::Options options;
  return weir::bench::GpuMain(
      "codecs-gpu",
      {.text = "The codecs of one tensor on a GPU.",
       .options = {{"--elements", &options.elements, "of the tensor"},
                   {"--warmup", &options.warmup_steps, "steps before the measured ones"},
                   {"--rounds", &options.rounds, "of each codec"}}},
      argc, argv,
      [&](const weir::Gpu& gpu, const std::string&) { return weir::bench::Measure(gpu, options); });
}
