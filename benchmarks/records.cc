// The cost of records: nanoseconds per record, with one and two threads adding, and the part of a
// step of examples/01-byte-lm that its records take.
#include <array>
#include <atomic>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "benchmarks/byte_lm_rank.h"
#include "benchmarks/main.h"
#include "benchmarks/report.h"
#include "common/clock.h"
#include "coordinator/engine/local_job.h"
#include "metrics/records/recorder.h"

namespace weir::bench {
namespace {

struct Options {
  std::string text = "examples/data/tinyshakespeare.txt";
  int batch = 32;
  int steps = 100;
  int rounds = 41;
};

constexpr int kRecords = 200'000;
constexpr int kRanks = 2;

/// Every thread adds records with a time of its own, as stages do.
void AddRecords(Recorder& recorder) {
  StageRecord record{.step = 1, .bytes_in = 4096, .bytes_out = 64, .stage = Stage::kExchange};
  for (int i = 0; i < kRecords; ++i) {
    record.bucket = static_cast<std::uint32_t>(i);
    recorder.Add(record);
  }
}

void AddFrom(int threads, Recorder& recorder) {
  std::vector<std::jthread> workers;
  workers.reserve(static_cast<std::size_t>(threads));
  for (int t = 0; t < threads; ++t) workers.emplace_back([&] { AddRecords(recorder); });
}

/// The yardstick: the same bytes to the same places, by one thread, without readers.
void CopyRecords(std::vector<std::array<std::uint64_t, 8>>& slots) {
  StageRecord record{.step = 1, .bytes_in = 4096, .bytes_out = 64, .stage = Stage::kExchange};
  for (int i = 0; i < kRecords; ++i) {
    record.bucket = static_cast<std::uint32_t>(i);
    std::memcpy(slots[static_cast<std::size_t>(i) % slots.size()].data(), &record, sizeof record);
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
}

struct Step {
  double seconds = 0;
  double records = 0;
};

/// Measures rank 0's step, among ranks that train beside each other.
Step MeasureStep(const Options& options, const byte_lm::Text& text) {
  LocalJob job(kRanks);
  Step step;
  std::vector<std::jthread> ranks;
  for (int rank = 0; rank < kRanks; ++rank) {
    ranks.emplace_back([&, rank] {
      ByteLmRank one({}, job.Environment(rank), options.batch, text);
      const Recorder& recorder = one.engine().recorder();
      std::vector<double> seconds;
      const std::uint64_t before = recorder.added();
      for (int s = 0; s < options.steps; ++s) seconds.push_back(Seconds([&] { one.Train(); }));
      const std::uint64_t added = recorder.added() - before;
      if (rank == 0) step = {Median(seconds), static_cast<double>(added) / options.steps};
    });
  }
  ranks.clear();
  return step;
}

Report Measure(const Options& options) {
  Recorder recorder;
  std::vector<std::array<std::uint64_t, 8>> slots(recorder.capacity());
  const auto times = Interleave(
      options.rounds,
      {[&] { CopyRecords(slots); }, [&] { AddFrom(1, recorder); }, [&] { AddFrom(2, recorder); }});
  const auto nanoseconds = [&](std::size_t i) { return Median(times[i]) / kRecords * 1e9; };
  const Step step = MeasureStep(options, byte_lm::Text::Load(options.text));
  const double share = step.records * nanoseconds(2) * 1e-9 / step.seconds;

  Report report("records");
  const auto row = [&](const char* what, double value, const char* unit) {
    report.AddRow({{"what", what}, {"value", value}, {"unit", unit}});
  };
  row("a copy of a record's bytes", nanoseconds(0), "ns");
  row("a record, one thread", nanoseconds(1), "ns");
  row("a record of each of two threads at once", nanoseconds(2), "ns");
  row("records of a byte-lm step", step.records, "");
  row("a byte-lm step", step.seconds * 1e3, "ms");
  report.AddTarget("one thread, ns a record", nanoseconds(1), "<=", 100);
  report.AddTarget("two threads at once, ns a record", nanoseconds(2), "<=", 100);
  report.AddTarget("part of a byte-lm step", share, "<=", 0.01);
  return report;
}

}  // namespace
}  // namespace weir::bench

int main(int argc, char** argv) {
  weir::bench::Options options;
  return weir::bench::Main(
      {"records",
       "Nanoseconds that a record takes, and the part of a step that is",
       {{"--text", &options.text, "Text to train on"},
        {"--batch", &options.batch, "Windows a rank and step"},
        {"--steps", &options.steps, "Steps of byte-lm", weir::bench::Option::kPositive},
        {"--rounds", &options.rounds, "Rounds of records; medians of them are shown",
         weir::bench::Option::kPositive}}},
      argc, argv, [&] { return weir::bench::Measure(options); });
}
