#include "compression/cpu/dgc_step.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "benchmarks/main.h"
#include "benchmarks/report.h"
#include "benchmarks/triad.h"
#include "compression/dgc/dgc_math.h"
#include "compression/memory/state_buffer.h"
#include "tests/compression/cpu/dgc_reference.h"

/// Speed of the fused DGC step, against the memory's own speed (triad, plain and with non-temporal
/// stores) and against DGC as one would first write it (tests/compression/cpu/dgc_reference.cc, one
/// thread). Figures are medians over interleaved rounds, and ratios are taken round by round, so
/// that other work of the machine affects both sides.
namespace weir::bench {
namespace {

constexpr double kDensity = 0.001;
constexpr std::size_t kElementsATiming = std::size_t{16} << 20;
constexpr double kStepBytes = 20;  // Read gradient, u, v; write u, v.

struct Settings {
  std::vector<std::size_t> mebi_elements = {1, 16, 64};
  int warmup_steps = 300;
  int rounds = 15;
};

/// Gradients that look new in every step: windows at random places of one long normal sequence,
/// times a scale that drifts by 2 % a step.
class Gradients {
 public:
  explicit Gradients(std::size_t n) : n_(n), pool_(n + kSlack) {
    std::normal_distribution<float> normal;
    for (float& x : pool_.values()) x = normal(random_);
  }

  std::span<const float> Next() {
    scale_ *= std::exp(0.02f * std::normal_distribution<float>()(random_));
    return pool_.values().subspan(random_() % kSlack, n_);
  }
  float scale() const { return scale_; }

 private:
  static constexpr std::size_t kSlack = std::size_t{1} << 20;
  std::mt19937_64 random_{20180401};
  std::size_t n_;
  StateBuffer pool_;
  float scale_ = 1.0f;
};

/// Seconds per round of one size and thread count.
struct Series {
  std::vector<double> triad, stream, warm, cold, plain, by_tail;
};

class Bench {
 public:
  Bench(const Settings& settings, std::size_t n)
      : settings_(settings),
        n_(n),
        k_(EntriesToSend(n, kDensity)),
        gradients_(n),
        u_(n),
        v_(n),
        other_u_(n),
        other_v_(n),
        a_(n),
        b_(n),
        c_(n),
        plain_(Momentum::kVanilla, 0.9f, Masking::kAll, n) {}

  /// `fresh`: the state is all zero and needs the warm-up steps first.
  Series Measure(int threads, bool fresh) {
    ThreadPool pool(threads);
    cpu::DgcStep step({}, u_.values(), v_.values());
    const auto take_step = [&] {
      step.Select(gradients_.Next(), gradients_.scale(), k_, &pool);
      step.Settle(&pool);
    };
    // momentum_masking=auto, which selects by the momentum too.
    cpu::DgcStep other({.masking = Masking::kAuto}, other_u_.values(), other_v_.values());
    const auto take_other = [&] {
      other.Select(gradients_.Next(), gradients_.scale(), k_, &pool);
      other.Settle(&pool);
    };
    for (int t = 0; t < (fresh ? settings_.warmup_steps : 10); ++t) {
      take_step();
      take_other();
    }
    if (fresh) {
      plain_.u.assign(u_.values().begin(), u_.values().end());
      plain_.v.assign(v_.values().begin(), v_.values().end());
    }

    const std::uint64_t rereads = step.rereads();
    auto seconds =
        Interleave(settings_.rounds,
                   {Repeat([&] { Triad(a_.values(), b_.values(), c_.values(), pool); }),
                    Repeat([&] { TriadNonTemporal(a_.values(), b_.values(), c_.values(), pool); }),
                    Repeat(take_step), Repeat([&] {
                      step.Forget();
                      take_step();
                    }),
                    Repeat([&] { plain_.Step(gradients_.Next(), gradients_.scale(), k_); }),
                    Repeat(take_other)});
    rereads_ = step.rereads() - rereads;
    candidates_ = static_cast<double>(step.candidates()) / static_cast<double>(k_);
    return {seconds[0], seconds[1], seconds[2], seconds[3], seconds[4], seconds[5]};
  }

  std::size_t n() const { return n_; }
  /// Number of steps in one timing.
  std::size_t Repeats() const { return std::max<std::size_t>(1, kElementsATiming / n_); }
  std::uint64_t rereads() const { return rereads_; }
  double candidates_per_k() const { return candidates_; }

 private:
  /// Small tensors are timed several times in a row: one step is shorter than a thread's waking.
  std::function<void()> Repeat(std::function<void()> work) const {
    return [work = std::move(work), times = Repeats()] {
      for (std::size_t i = 0; i < times; ++i) work();
    };
  }

  const Settings& settings_;
  std::size_t n_;
  std::size_t k_;
  Gradients gradients_;
  StateBuffer u_, v_, other_u_, other_v_, a_, b_, c_;
  DgcReference plain_;
  std::uint64_t rereads_ = 0;
  double candidates_ = 0;
};

void AddResults(const Bench& bench, int threads, const Series& series, Report& report) {
  const std::size_t mebi = bench.n() >> 20;
  const double n = static_cast<double>(bench.n() * bench.Repeats());
  const double bytes_ratio = kStepBytes / kTriadBytes;
  const double to_stream = bytes_ratio * MedianRatio(series.stream, series.warm);
  const double to_triad = bytes_ratio * MedianRatio(series.triad, series.warm);
  const double to_plain = MedianRatio(series.plain, series.warm);
  const double cold = MedianRatio(series.cold, series.warm);
  const double by_tail = MedianRatio(series.by_tail, series.warm);
  report.AddRow({{"Mi elements", mebi},
                 {"threads", threads},
                 {"warm ms", 1e3 * Median(series.warm) / static_cast<double>(bench.Repeats())},
                 {"GB/s at 20 B", n * kStepBytes / Median(series.warm) / 1e9},
                 {"triad GB/s", n * kTriadBytes / Median(series.triad) / 1e9},
                 {"stream GB/s", n * kTriadBytes / Median(series.stream) / 1e9},
                 {"x triad", to_triad},
                 {"x stream", to_stream},
                 {"x plain DGC", to_plain},
                 {"cold/warm", cold},
                 {"auto/masked", by_tail},
                 {"candidates/K", bench.candidates_per_k()},
                 {"rereads", bench.rereads()}});

  const std::string where =
      ", " + std::to_string(mebi) + " Mi, " + std::to_string(threads) + " threads";
  if (mebi >= 16) {
    report.AddTarget("bandwidth / triad with non-temporal stores" + where, to_stream, ">=", 1.0);
    report.AddTarget("bandwidth / plain triad" + where, to_triad, ">=", 1.4);
  }
  if (threads <= 2) report.AddTarget("times plain DGC" + where, to_plain, ">=", 7.0 * threads);
  report.AddTarget("cold / warm" + where, cold, "<=", mebi >= 16 ? 1.1 : 1.5);
  report.AddTarget("momentum_masking=auto / true" + where, by_tail, "<=", 1.03);
}

Report Run(const Settings& settings) {
  Report report("dgc_step");
  const int all = static_cast<int>(std::thread::hardware_concurrency());
  for (const std::size_t mebi : settings.mebi_elements) {
    Bench bench(settings, mebi << 20);
    AddResults(bench, 1, bench.Measure(1, true), report);
    if (all > 1) AddResults(bench, all, bench.Measure(all, false), report);
  }
  return report;
}

}  // namespace
}  // namespace weir::bench

int main(int argc, char** argv) {
  weir::bench::Settings settings;
  return weir::bench::Main(
      {"dgc_step",
       "Speed of the fused DGC step at density 0.1 %",
       {{"--sizes", &settings.mebi_elements, "Tensor sizes in Mi elements"},
        {"--warmup-steps", &settings.warmup_steps, "Steps before anything is timed"},
        {"--rounds", &settings.rounds, "Timed rounds"}}},
      argc, argv, [&] { return weir::bench::Run(settings); });
}
