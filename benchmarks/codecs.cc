#include <algorithm>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "benchmarks/codec_candidates.h"
#include "benchmarks/main.h"
#include "benchmarks/read_pass.h"
#include "benchmarks/report.h"
#include "benchmarks/triad.h"
#include "compression/memory/state_buffer.h"

/// Encode, decode and merge of every codec, on one thread, beside plain passes over memory:
/// reading the input, memset of the output (to a byte that is not 0, because some CPUs write
/// zeros twice as fast), memcpy, triad. Figures are medians over interleaved rounds, and
/// ratios are taken round by round.
namespace weir::bench {
namespace {

constexpr std::size_t kElementsATiming = std::size_t{16} << 20;

struct Settings {
  std::vector<std::size_t> mebi_elements = {1, 16};
  int rounds = 15;
};

/// Counts distinct cache lines of an array that contain entries.
std::size_t LinesTouched(std::span<const std::uint32_t> ascending) {
  constexpr std::uint32_t kFloatsALine = 64 / sizeof(float);
  std::size_t lines = 0;
  std::uint32_t last = 0;
  for (const std::uint32_t index : ascending) {
    const std::uint32_t line = 1 + index / kFloatsALine;
    lines += line != last ? 1 : 0;
    last = line;
  }
  return lines;
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
        {"memcpy", [&] { Copy(); }},
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
                     {"x memory speed", ""},
                     {"bytes", ""}});
    }
  }

  void Measure(const CodecCandidate& candidate, int rounds, Report& report) {
    std::vector<std::byte> payload(candidate.max_bytes);
    payload.resize(candidate.encode(values_.values(), payload));
    std::vector<std::byte> scratch(candidate.max_bytes);
    const auto merge = [&] {
      if (candidate.merge) candidate.merge(payload, out_.values());
    };
    const auto seconds = Interleave(
        rounds,
        {Repeat([&] { sink_ += ReadPass(values_.values()); }), Repeat([&] { Set(); }),
         Repeat([&] { Copy(); }), Repeat([&] { candidate.encode(values_.values(), scratch); }),
         Repeat([&] { candidate.decode(payload, out_.values()); }), Repeat(merge)});
    const double encode = MedianRatio(seconds[3], seconds[0]);
    const double decode = MedianRatio(seconds[4], seconds[1]);
    const double input = 1e-6 * static_cast<double>(bytes()) / PerCall(seconds[3]);
    Row row = {
        {"Mi elements", mebi()},  {"pass", candidate.name}, {"encode ms", PerCall(seconds[3])},
        {"GB/s of input", input}, {"x read", encode},       {"decode ms", PerCall(seconds[4])},
        {"x memset", decode},     {"merge ms", ""},         {"x memory speed", ""},
        {"bytes", payload.size()}};
    if (candidate.merge) row.Set("merge ms", PerCall(seconds[5]));
    const std::string where = ", " + std::to_string(mebi()) + " Mi";
    if (candidate.indices) {
      // A line is read and written, like those that memcpy moves.
      const double share = static_cast<double>(64 * LinesTouched(candidate.indices(payload))) /
                           static_cast<double>(bytes());
      const double speed = share / MedianRatio(seconds[5], seconds[2]);
      row.Set("x memory speed", speed);
      report.AddTarget(candidate.name + ": merge / memory speed" + where, speed, ">=", 0.5);
    }
    report.AddRow(row);
    if (candidate.name == "onebit") {
      report.AddTarget("onebit: encode / read" + where, encode, "<=", 1.5);
      report.AddTarget("onebit: decode / memset" + where, decode, "<=", 1.3);
    }
    if (candidate.held) {
      report.AddTarget(candidate.name + ": GB/s of input" + where, input, ">=", 1.0);
    }
  }

 private:
  std::size_t bytes() const { return n_ * sizeof(float); }
  std::size_t mebi() const { return n_ >> 20; }
  std::size_t times() const { return std::max<std::size_t>(1, kElementsATiming / n_); }
  void Copy() { std::memcpy(out_.values().data(), values_.values().data(), bytes()); }
  void Set() { std::memset(out_.values().data(), 1, bytes()); }
  double PerCall(const std::vector<double>& seconds) const {
    return 1e3 * Median(seconds) / static_cast<double>(times());
  }
  /// Small arrays are timed several times in a row.
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
  for (const std::size_t mebi : settings.mebi_elements) {
    Bench bench(mebi << 20);
    bench.MeasureYardsticks(settings.rounds, report);
    for (const CodecCandidate& candidate : CodecCandidates(mebi << 20)) {
      bench.Measure(candidate, settings.rounds, report);
    }
  }
  return report;
}

}  // namespace
}  // namespace weir::bench

int main(int argc, char** argv) {
  weir::bench::Settings settings;
  return weir::bench::Main({"codecs",
                            "Speed of every codec on one thread",
                            {{"--sizes", &settings.mebi_elements, "Tensor sizes in Mi elements"},
                             {"--rounds", &settings.rounds, "Timed rounds"}}},
                           argc, argv, [&] { return weir::bench::Run(settings); });
}
