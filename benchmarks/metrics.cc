// The cost of being watched: a scrape of a rank with 1,000 layers beside an answer that needs
// no work, and steps of examples/01-byte-lm that are scraped every second, followed and
// recorded, beside steps that are not.
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "benchmarks/byte_lm_rank.h"
#include "benchmarks/main.h"
#include "benchmarks/report.h"
#include "coordinator/engine/local_job.h"
#include "metrics/monitor.h"
#include "tests/metrics/http/http_get.h"

namespace weir::bench {
namespace {

struct Options {
  std::string text = "examples/data/tinyshakespeare.txt";
  int batch = 32;
  int steps = 24;
  int rounds = 40;
};

constexpr int kLayers = 1000;
constexpr int kBuckets = 60;
constexpr int kRanks = 2;
constexpr int kScrapes = 101;

int FreePort() { return HttpServer({}, {}).port(); }

void AddStep(Recorder& recorder, std::int64_t step) {
  for (std::uint32_t bucket = 0; bucket < kBuckets; ++bucket) {
    for (int stage = 0; stage < kBucketStageCount; ++stage) {
      recorder.Add({.end_ns = 1'000'000,
                    .step = step,
                    .bytes_in = 4096,
                    .bytes_out = 4096,
                    .bucket = bucket,
                    .stage = static_cast<Stage>(stage)});
    }
  }
  for (std::uint32_t layer = 0; layer < kLayers; ++layer) {
    recorder.Add({.end_ns = 1'000'000,
                  .step = step,
                  .bytes_in = 4096,
                  .bytes_out = 64,
                  .bucket = kBuckets + layer,
                  .density = 0.001f,
                  .threshold = 0.01f,
                  .stage = Stage::kGradient});
  }
  recorder.Add({.end_ns = 100'000'000, .step = step, .stage = Stage::kStep});
}

/// Before each scrape a rank makes a step.
void MeasureScrapes(Report& report) {
  Recorder recorder;
  BucketNames names;
  EngineGauges gauges;
  for (int b = 0; b < kBuckets; ++b) names.Add({.name = "bucket", .compressor = "dgc"});
  for (int layer = 0; layer < kLayers; ++layer) {
    names.Add({.name = "model/encoder.layers." + std::to_string(layer) + ".weight",
               .compressor = "dgc",
               .elements = 1024});
  }
  Settings settings;
  settings.metrics_port = FreePort();
  settings.metrics_per_tensor = true;
  Monitor monitor(settings, {.rank = 0, .size = 1}, recorder, names, gauges);
  std::size_t bytes = 0;
  std::int64_t step = 0;
  const auto times =
      Interleave(kScrapes, {[&] { HttpGet(monitor.port(), "/healthz"); },
                            [&] { bytes = HttpGet(monitor.port(), "/metrics").body.size(); },
                            [&] { AddStep(recorder, step++); }});
  const double scrape = Median(times[1]);
  report.AddRow({{"what", "an answer of /healthz"}, {"ms", Median(times[0]) * 1e3}, {"kB", 0.0}});
  report.AddRow({{"what", "a scrape, 1,000 layers"},
                 {"ms", scrape * 1e3},
                 {"kB", static_cast<double>(bytes) / 1e3}});
  report.AddTarget("a scrape, ms", scrape * 1e3, "<=", 10);
  report.AddTarget("a scrape, kB", static_cast<double>(bytes) / 1e3, "<=", 200);
}

/// Scrapes every second and follows the log, as Prometheus and a dashboard do.
class Watchers {
 public:
  explicit Watchers(const std::vector<int>& ports) {
    for (const int port : ports) {
      threads_.emplace_back([this, port](const std::stop_token& stop) { Scrape(port, stop); });
      threads_.emplace_back([port](const std::stop_token& stop) { Follow(port, stop); });
    }
  }

 private:
  void Scrape(int port, const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (!stop.stop_requested()) {
      HttpGet(port, "/metrics");
      second_.wait_for(lock, stop, std::chrono::seconds(1), [] { return false; });
    }
  }
  static void Follow(int port, const std::stop_token& stop) {
    std::uint64_t after = 0;
    while (!stop.stop_requested()) {
      const std::string answer = HttpGet(port, "/log?wait=1&after=" + std::to_string(after)).body;
      const std::size_t last = answer.rfind("\"number\":");
      if (last != std::string::npos) after = std::stoull(answer.substr(last + 9));
    }
  }

  std::mutex mutex_;
  std::condition_variable_any second_;
  std::vector<std::jthread> threads_;
};

/// Rank 0's seconds a round, [watched or not][round].
using Series = std::array<std::vector<double>, 2>;

Settings Watched(const std::filesystem::path& folder, int port) {
  Settings settings;
  settings.metrics_port = port;
  settings.record_filename = (folder / "run.weirlog").string();
  return settings;
}

Series MeasureSteps(const Options& options, const std::filesystem::path& folder) {
  const byte_lm::Text text = byte_lm::Text::Load(options.text);
  LocalJob plain(kRanks);
  LocalJob watched(kRanks);
  std::vector<int> ports;
  for (int rank = 0; rank < kRanks; ++rank) ports.push_back(FreePort());
  Series series;
  std::atomic<int> ready = 0;
  std::atomic<int> trained = 0;
  std::atomic<bool> seen = false;  // Nobody watches any more.
  std::vector<std::jthread> ranks;
  for (int rank = 0; rank < kRanks; ++rank) {
    ranks.emplace_back([&, rank] {
      EngineEnvironment environment = watched.Environment(rank);
      const int local_rank = environment.local_rank;
      const int port = ports[static_cast<std::size_t>(rank)] - local_rank;
      ByteLmRank without({}, plain.Environment(rank), options.batch, text);
      ByteLmRank with(Watched(folder, port), std::move(environment), options.batch, text);
      ++ready;
      ready.notify_all();
      for (int round = -2; round < options.rounds; ++round) {
        for (int i = 0; i < 2; ++i) {
          const bool is_watched = (round + i) % 2 != 0;  // Each goes first every other time.
          ByteLmRank& one = is_watched ? with : without;
          const double seconds = Seconds([&] {
            for (int step = 0; step < options.steps; ++step) one.Train();
          });
          if (rank == 0 && round >= 0) series[is_watched ? 1 : 0].push_back(seconds);
        }
      }
      ++trained;
      trained.notify_all();
      seen.wait(false);
    });
  }
  const auto until_all = [](std::atomic<int>& count) {
    for (int now = 0; (now = count) < kRanks;) count.wait(now);
  };
  until_all(ready);
  {
    const Watchers watchers(ports);
    until_all(trained);
  }
  seen = true;
  seen.notify_all();
  ranks.clear();
  return series;
}

Report Measure(const Options& options) {
  Report report("metrics");
  MeasureScrapes(report);
  const auto folder = std::filesystem::temp_directory_path() / "weir_bench_metrics";
  std::filesystem::create_directories(folder);
  const Series series = MeasureSteps(options, folder);
  std::filesystem::remove_all(folder);
  const auto row = [&](const char* what, const std::vector<double>& seconds) {
    report.AddRow({{"what", what}, {"ms", Median(seconds) / options.steps * 1e3}, {"kB", 0.0}});
  };
  row("a step of byte-lm", series[0]);
  row("the same, watched", series[1]);
  report.AddTarget("a step, watched / not", MedianRatio(series[1], series[0]), "<=", 1.01);
  return report;
}

}  // namespace
}  // namespace weir::bench

int main(int argc, char** argv) {
  weir::bench::Options options;
  return weir::bench::Main(
      {"metrics",
       "A scrape of 1,000 layers, and training that is watched",
       {{"--text", &options.text, "Text to train on"},
        {"--batch", &options.batch, "Windows a rank and step"},
        {"--steps", &options.steps, "Steps of a round", weir::bench::Option::kPositive},
        {"--rounds", &options.rounds, "Rounds; the table shows their medians",
         weir::bench::Option::kPositive}}},
      argc, argv, [&] { return weir::bench::Measure(options); });
}
