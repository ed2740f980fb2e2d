#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "benchmarks/main.h"
#include "benchmarks/read_pass.h"
#include "benchmarks/report.h"
#include "benchmarks/triad.h"
#include "compression/codecs/cast.h"
#include "compression/codecs/int8.h"
#include "compression/codecs/onebit.h"
#include "compression/codecs/quantizer.h"
#include "compression/codecs/randomk.h"
#include "compression/codecs/topk.h"
#include "compression/state_buffer.h"

/// Encode, decode and merge of every codec, on one thread, beside passes over memory that do
/// nothing else: reading the input, memset of the output (to a byte that is not 0, since some CPUs
/// write zeros twice as fast as anything else), memcpy, triad. Figures are medians over interleaved
/// rounds, and ratios are taken round by round.
namespace weir::bench {
namespace {

constexpr double kDensity = 0.01;
constexpr std::size_t kElementsATiming = std::size_t{16} << 20;

struct Settings {
  std::vector<std::size_t> mebi_elements = {1, 16};
  int rounds = 15;
};

struct Candidate {
  std::string name;
  std::unique_ptr<const Codec> codec;
};

std::vector<Candidate> Candidates() {
  std::vector<Candidate> all;
  all.push_back({"fp16", std::make_unique<CastCodec>(DType::kFloat16)});
  all.push_back({"bf16", std::make_unique<CastCodec>(DType::kBFloat16)});
  all.push_back({"onebit", std::make_unique<OneBitCodec>(/*scaled=*/true)});
  const CounterRandom random(0, "w");
  using Q = QuantizerCodec;
  const auto quantizer = [&](const char* name, const Q::Rule& rule) {
    all.push_back({name, std::make_unique<Q>(random, rule)});
  };
  all.push_back(
      {"randomk 1 %", std::make_unique<RandomKCodec>(random, 0, ValueType::kFloat16, false)});
  quantizer("dithering 7", {.levels = 7});
  quantizer("dithering 127", {.levels = 127});
  quantizer("natural 7 l2",
            {.levels = 7, .spacing = Q::Spacing::kPowersOfTwo, .scale = Q::Scale::kNorm});
  quantizer("terngrad", {.levels = 1, .scale = Q::Scale::kClipped, .form = LevelForm::kPacked});
  quantizer("quant3", {.levels = 3, .rounding = Q::Rounding::kNearest, .form = LevelForm::kPacked});
  all.push_back({"int8", std::make_unique<Int8Codec>()});
  all.push_back({"topk 1 %", std::make_unique<TopKCodec>(0, ValueType::kFloat16)});
  return all;
}

class Bench {
 public:
  explicit Bench(std::size_t n) : n_(n), values_(n), out_(n), other_(n) {
    std::mt19937 random(20180401);
    std::normal_distribution<float> normal;
    for (float& value : values_.values()) value = normal(random);
  }

  void MeasureYardsticks(int rounds, Report& report) {
    ThreadPool pool(1);
    const std::vector<std::pair<const char*, std::function<void()>>> passes = {
        {"read", [&] { sink_ += ReadPass(values_.values()); }},
        {"memset", [&] { Set(); }},
        {"memset to 0", [&] { std::memset(out_.values().data(), 0, bytes()); }},
        {"memcpy", [&] { std::memcpy(out_.values().data(), values_.values().data(), bytes()); }},
        {"triad", [&] { Triad(out_.values(), values_.values(), other_.values(), pool); }}};
    std::vector<std::function<void()>> repeated;
    for (const auto& [name, pass] : passes) repeated.push_back(Repeat(pass));
    const auto seconds = Interleave(rounds, repeated);
    for (std::size_t i = 0; i < seconds.size(); ++i) {
      report.AddRow({{"Mi elements", mebi()},
                     {"pass", passes[i].first},
                     {"encode ms", PerCall(seconds[i])},
                     {"GB/s of input", ""},
                     {"x read", ""},
                     {"decode ms", ""},
                     {"x memset", ""},
                     {"merge ms", ""},
                     {"bytes", ""}});
    }
  }

  void Measure(const Candidate& candidate, int rounds, Report& report) {
    const Codec& codec = *candidate.codec;
    const StepContext context{.density = kDensity};
    std::vector<std::byte> payload(codec.MaxEncodedBytes(n_, kDensity));
    payload.resize(codec.Encode(context, values_.values(), payload));
    std::vector<std::byte> scratch(codec.MaxEncodedBytes(n_, kDensity));
    const std::vector<std::span<const std::byte>> alone = {payload};
    const auto seconds = Interleave(
        rounds, {Repeat([&] { sink_ += ReadPass(values_.values()); }), Repeat([&] { Set(); }),
                 Repeat([&] { codec.Encode(context, values_.values(), scratch); }),
                 Repeat([&] { codec.MergeMean(alone, out_.values()); }),
                 Repeat([&] { codec.Merge(payload, out_.values()); })});
    const double encode = MedianRatio(seconds[2], seconds[0]);
    const double decode = MedianRatio(seconds[3], seconds[1]);
    const double input = 1e-6 * static_cast<double>(bytes()) / PerCall(seconds[2]);
    report.AddRow({{"Mi elements", mebi()},
                   {"pass", candidate.name},
                   {"encode ms", PerCall(seconds[2])},
                   {"GB/s of input", input},
                   {"x read", encode},
                   {"decode ms", PerCall(seconds[3])},
                   {"x memset", decode},
                   {"merge ms", PerCall(seconds[4])},
                   {"bytes", payload.size()}});
    const std::string where = ", " + std::to_string(mebi()) + " Mi";
    if (candidate.name == "onebit") {
      report.AddTarget("onebit: encode / read" + where, encode, "<=", 1.5);
      report.AddTarget("onebit: decode / memset" + where, decode, "<=", 1.3);
    }
    // What is written in Elias' code takes its time.
    const bool packed = payload.size() == codec.MaxEncodedBytes(n_, kDensity);
    if (packed) report.AddTarget(candidate.name + ": GB/s of input" + where, input, ">=", 1.0);
  }

 private:
  std::size_t bytes() const { return n_ * sizeof(float); }
  std::size_t mebi() const { return n_ >> 20; }
  std::size_t times() const { return std::max<std::size_t>(1, kElementsATiming / n_); }
  void Set() { std::memset(out_.values().data(), 1, bytes()); }
  double PerCall(const std::vector<double>& seconds) const {
    return 1e3 * Median(seconds) / static_cast<double>(times());
  }
  /// Small arrays are timed several times over.
  std::function<void()> Repeat(std::function<void()> work) const {
    return [work = std::move(work), times = times()] {
      for (std::size_t i = 0; i < times; ++i) work();
    };
  }

  std::size_t n_;
  StateBuffer values_, out_, other_;
  float sink_ = 0.0f;
};

Report Run(const Settings& settings) {
  Report report("codecs");
  const auto candidates = Candidates();
  for (const std::size_t mebi : settings.mebi_elements) {
    Bench bench(mebi << 20);
    bench.MeasureYardsticks(settings.rounds, report);
    for (const Candidate& candidate : candidates) {
      bench.Measure(candidate, settings.rounds, report);
    }
  }
  return report;
}

}  // namespace
}  // namespace weir::bench

int main(int argc, char** argv) {
  CLI::App app("Speed of every codec on one thread", "codecs");
  weir::bench::Settings settings;
  app.add_option("--sizes", settings.mebi_elements, "Tensor sizes in Mi elements");
  app.add_option("--rounds", settings.rounds, "Timed rounds");
  return weir::bench::Main(app, argc, argv, [&] { return weir::bench::Run(settings); });
}
