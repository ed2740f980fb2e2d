// The engine's all-reduce, from submission to the end of the wait, against MPI_Allreduce
// in place on the same buffers in the same run; with the cores to itself and with a
// thread that computes on every rank.
#include <mpi.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "benchmarks/main.h"
#include "benchmarks/report.h"
#include "weir/engine.h"

namespace weir::bench {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

struct Options {
  std::vector<std::size_t> sizes = {256,  4096,     65536,     256 * 1024,
                                    kMiB, 4 * kMiB, 16 * kMiB, 64 * kMiB};
  int rounds = 21;
  bool idle_only = false;
};

/// Training's share of a core: never idle until destroyed.
class ComputeThread {
 public:
  ComputeThread()
      : thread_([this] {
          while (!stop_.load(std::memory_order_relaxed)) {
          }
        }) {}
  ~ComputeThread() { stop_ = true; }
  ComputeThread(const ComputeThread&) = delete;
  ComputeThread& operator=(const ComputeThread&) = delete;

 private:
  std::atomic<bool> stop_ = false;
  std::jthread thread_;
};

void PlainMpi(std::vector<float>& values) {
  MPI_Allreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_FLOAT, MPI_SUM,
                MPI_COMM_WORLD);
}

void ThroughEngine(Engine& engine, std::vector<float>& values) {
  const TensorView view{values.data(), DType::kFloat32, {static_cast<std::int64_t>(values.size())}};
  engine.Wait(engine.Allreduce("values." + std::to_string(values.size()), view, view,
                               {.op = ReduceOp::kSum}));
}

/// Number of calls in one timing: enough to fill about a millisecond, fewer when each may cost
/// a time slice of the scheduler.
int Calls(std::size_t bytes, bool compute) {
  const auto calls = static_cast<int>(std::clamp<std::size_t>(kMiB / bytes, 1, 50));
  return compute ? std::min(calls, 4) : calls;
}

double SecondsOfOne(const std::function<void()>& call, int calls) {
  MPI_Barrier(MPI_COMM_WORLD);
  return Seconds([&] {
           for (int i = 0; i < calls; ++i) call();
         }) /
         calls;
}

struct Timing {
  double plain = 0;
  double engine = 0;
  double ratio = 0;  ///< Speed of the engine over MPI's, median over pairs.
};

Timing Measure(Engine& engine, std::size_t bytes, bool compute, int rounds) {
  std::vector<float> values(bytes / sizeof(float));
  const int calls = Calls(bytes, compute);
  std::vector<double> plain;
  std::vector<double> ours;
  for (int round = -2; round < rounds; ++round) {
    const double first = SecondsOfOne([&] { PlainMpi(values); }, calls);
    const double second = SecondsOfOne([&] { ThroughEngine(engine, values); }, calls);
    if (round < 0) continue;
    plain.push_back(first);
    ours.push_back(second);
  }
  return {Median(plain), Median(ours), MedianRatio(plain, ours)};
}

void AddTargets(int ranks, std::size_t bytes, bool compute, const Timing& timing, Report& report) {
  const std::string where = std::to_string(ranks) + " ranks, ";
  if (compute) {
    if (ranks == 4 && bytes == 256) {
      report.AddTarget(where + "computing, 256 B: times plain MPI", timing.ratio, ">=", 1.0);
    }
    return;
  }
  if (bytes == 256) {
    // Microseconds are meaningful on an idle machine, on a busy one only the ratio.
    const double absolute = 1e6 * timing.engine / (ranks == 2 ? 20.0 : 100.0);
    report.AddTarget(where + "256 B: the better of us / " + (ranks == 2 ? "20" : "100") +
                         " and (time / plain MPI's) / 4",
                     std::min(absolute, 1.0 / timing.ratio / 4), "<=", 1.0);
  }
  constexpr std::pair<std::size_t, double> kTwoRanks[] = {
      {kMiB, 0.95}, {4 * kMiB, 0.9}, {16 * kMiB, 1.3}, {64 * kMiB, 1.8}};
  for (const auto& [size, target] : kTwoRanks) {
    if (ranks == 2 && bytes == size) {
      report.AddTarget(where + std::to_string(size / kMiB) + " MiB: times plain MPI", timing.ratio,
                       ">=", target);
    }
  }
}

void MeasureAll(Engine& engine, bool compute, const Options& options, Report& report) {
  for (const std::size_t bytes : options.sizes) {
    const Timing timing = Measure(engine, bytes, compute, options.rounds);
    report.AddRow({{"computing", compute ? "yes" : "no"},
                   {"KiB", static_cast<double>(bytes) / 1024},
                   {"plain us", 1e6 * timing.plain},
                   {"engine us", 1e6 * timing.engine},
                   {"x plain", timing.ratio}});
    AddTargets(engine.size(), bytes, compute, timing, report);
  }
}

std::optional<Report> Run(const Options& options) {
  const auto engine = Engine::Create();
  Report report("transport, " + std::to_string(engine->size()) + " ranks");
  MeasureAll(*engine, false, options, report);
  if (!options.idle_only) {
    const ComputeThread compute;
    MeasureAll(*engine, true, options, report);
  }
  if (engine->rank() != 0) return {};
  return report;
}

}  // namespace
}  // namespace weir::bench

int main(int argc, char** argv) {
  weir::bench::Options options;
  return weir::bench::Main(
      {"transport",
       "All-reduce through the engine against MPI_Allreduce in place",
       {{"--sizes", &options.sizes, "Bytes"},
        {"--idle-only", &options.idle_only, "Leave out the runs beside a computing thread"},
        {"--rounds", &options.rounds, "Timed rounds; the table shows their medians"}}},
      argc, argv, [&] { return weir::bench::Run(options); });
}
