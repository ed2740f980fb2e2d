// The time of compression and exchange that a training step still pays for: the model of
// examples/01-byte-lm in the pipeline modes `serial` and `thread`, interleaved in one process. Once
// with ranks that share the cores and memory, and once with one rank that trains, a free core
// beside it, and a 100 Mb/s link to a rank that only answers.
#include <array>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "benchmarks/byte_lm_rank.h"
#include "benchmarks/main.h"
#include "benchmarks/report.h"
#include "benchmarks/step_split.h"
#include "common/clock.h"
#include "coordinator/engine/local_job.h"
#include "tests/ops/transport/delayed_transport.h"

namespace weir::bench {
namespace {

struct Options {
  std::string text = "examples/data/tinyshakespeare.txt";
  int batch = 32;
  int steps = 12;
  int rounds = 60;
};

/// One rank's model and engine in one pipeline mode.
class Rank {
 public:
  Rank(const Settings& settings, EngineEnvironment environment, const Options& options,
       const byte_lm::Text& text)
      : rank_(settings, std::move(environment), options.batch, text) {}

  Split Train() {
    const std::uint64_t first = rank_.engine().recorder().added();
    const std::int64_t start = NowNs();
    std::vector<Interval> waits;
    rank_.Forward();
    rank_.Backward([&](int parameter) {
      waits.push_back({.start_ns = NowNs()});
      rank_.trainer().SubmitGradient(parameter);
      waits.back().end_ns = NowNs();
    });
    waits.push_back({.start_ns = NowNs()});
    rank_.trainer().ApplyStep();
    waits.back().end_ns = NowNs();
    return SplitOf(rank_.engine().recorder(), first, waits.back().end_ns - start, waits);
  }

  /// Takes part in a step without computing anything.
  void Answer() {
    rank_.trainer().BeginStep(ByteLmRank::kLearningRate);
    rank_.trainer().ApplyStep();
  }

 private:
  ByteLmRank rank_;
};

constexpr std::array kModes = {PipelineMode::kSerial, PipelineMode::kThread};
/// By mode, the medians of each round's steps.
using Series = std::array<std::vector<Split>, kModes.size()>;

struct Setup {
  std::string name;
  int training = 1;            ///< Ranks that train;
  int answering = 0;           ///< ranks that only answer.
  double bits_per_second = 0;  ///< 0: no delay.

  int ranks() const { return training + answering; }
};

/// The job of one mode.
std::unique_ptr<LocalJob> MakeJob(const Setup& setup) {
  if (setup.bits_per_second == 0) return std::make_unique<LocalJob>(setup.ranks());
  const auto link = std::make_shared<VirtualNetwork>(
      setup.ranks(), VirtualNetwork::Link{.bytes_per_second = setup.bits_per_second / 8});
  return std::make_unique<LocalJob>(
      setup.ranks(), [link](int /*rank*/, std::unique_ptr<Transport> direct) {
        return std::make_unique<DelayedTransport>(std::move(direct), link);
      });
}

void RunRank(int rank, const Setup& setup,
             std::array<std::unique_ptr<LocalJob>, kModes.size()>& jobs, const Options& options,
             const byte_lm::Text& text, Series& series) {
  std::array<std::unique_ptr<Rank>, kModes.size()> modes;
  for (std::size_t m = 0; m < kModes.size(); ++m) {
    Settings settings;
    settings.pipeline = kModes[m];
    modes[m] = std::make_unique<Rank>(settings, jobs[m]->Environment(rank), options, text);
  }
  for (int round = -1; round < options.rounds; ++round) {
    for (std::size_t i = 0; i < kModes.size(); ++i) {
      // Each mode goes first every other time.
      const std::size_t m = round % 2 == 0 ? i : kModes.size() - 1 - i;
      std::vector<Split> splits;
      for (int step = 0; step < options.steps; ++step) {
        if (rank < setup.training) {
          splits.push_back(modes[m]->Train());
        } else {
          modes[m]->Answer();
        }
      }
      if (rank == 0 && round >= 0) series[m].push_back(MedianOf(splits));
    }
  }
}

Series Measure(const Setup& setup, const Options& options, const byte_lm::Text& text) {
  std::array<std::unique_ptr<LocalJob>, kModes.size()> jobs;
  for (auto& job : jobs) job = MakeJob(setup);
  Series series;
  std::vector<std::jthread> threads;
  threads.reserve(static_cast<std::size_t>(setup.ranks()));
  for (int rank = 0; rank < setup.ranks(); ++rank) {
    threads.emplace_back([&, rank] { RunRank(rank, setup, jobs, options, text, series); });
  }
  threads.clear();
  return series;
}

void AddRows(const Setup& setup, const Series& series, Report& report) {
  constexpr std::array kNames = {"serial", "thread"};
  for (std::size_t m = 0; m < kModes.size(); ++m) {
    const Split split = MedianOf(series[m]);
    report.AddRow({{"setup", setup.name},
                   {"mode", kNames[m]},
                   {"step ms", split.step},
                   {"compression ms", split.compression},
                   {"exposed compression ms", split.exposed_compression},
                   {"exposed exchange ms", split.exposed_exchange}});
  }
  std::vector<double> serial;
  std::vector<double> thread;
  for (const Split& split : series[0]) serial.push_back(split.step);
  for (const Split& split : series[1]) thread.push_back(split.step);
  report.AddTarget(setup.name + ": step, thread / serial", MedianRatio(thread, serial), "<=", 1.02);
  if (setup.bits_per_second == 0) return;
  const Split split = MedianOf(series[1]);
  report.AddTarget(setup.name + ": hidden share of compression, thread",
                   1 - split.exposed_compression / split.compression, ">=", 0.5);
}

Report Run(const Options& options) {
  Report report("overlap");
  const byte_lm::Text text = byte_lm::Text::Load(options.text);
  const Setup setups[] = {
      {.name = "2 ranks train", .training = 2},
      {.name = "1 rank trains, 100 Mb/s", .training = 1, .answering = 1, .bits_per_second = 100e6}};
  for (const Setup& setup : setups) AddRows(setup, Measure(setup, options, text), report);
  return report;
}

}  // namespace
}  // namespace weir::bench

int main(int argc, char** argv) {
  weir::bench::Options options;
  return weir::bench::Main(
      {"overlap",
       "Exposed compression and exchange, pipeline modes serial and thread",
       {{"--text", &options.text, "Text to train on"},
        {"--batch", &options.batch, "Windows a rank and step"},
        {"--steps", &options.steps, "Steps of a round"},
        {"--rounds", &options.rounds, "Rounds; the table shows their medians"}}},
      argc, argv, [&] { return weir::bench::Run(options); });
}
