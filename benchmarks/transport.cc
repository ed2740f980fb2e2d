// The engine's all-reduce over MPI and over UCX, from submission to the end of the wait, against
// MPI_Allreduce in place on the same buffers in the same run; with the cores to itself and with a
// thread that computes on every rank.
#include <mpi.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "benchmarks/main.h"
#include "benchmarks/report.h"
#include "weir/engine.h"
#include "weir/error.h"

namespace weir::bench {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

struct Options {
  std::vector<std::size_t> sizes = {256,  4096,     65536,     256 * 1024,
                                    kMiB, 4 * kMiB, 16 * kMiB, 64 * kMiB};
  std::string transport;  ///< Empty: both.
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

void AddTargets(int ranks, const std::string& transport, std::size_t bytes, bool compute,
                const Timing& timing, Report& report) {
  const bool over_ucx = transport == "ucx";
  const std::string where = transport + ", " + std::to_string(ranks) + " ranks, ";
  if (compute) {
    if (ranks == 4 && bytes == 256) {
      report.AddTarget(where + "computing, 256 B: times plain MPI", timing.ratio, ">=", 1.0);
    }
    return;
  }
  if (bytes == 256) {
    // Microseconds are meaningful on an idle machine, on a busy one only the ratio.
    const int us = over_ucx ? (ranks == 2 ? 15 : 50) : (ranks == 2 ? 20 : 100);
    report.AddTarget(
        where + "256 B: the better of us / " + std::to_string(us) + " and (time / plain MPI's) / 4",
        std::min(1e6 * timing.engine / us, 1.0 / timing.ratio / 4), "<=", 1.0);
  }
  using Targets = std::array<std::pair<std::size_t, double>, 4>;
  const Targets two_ranks =
      over_ucx ? Targets{{{kMiB, 1.5}, {4 * kMiB, 1.3}, {16 * kMiB, 1.4}, {64 * kMiB, 2.0}}}
               : Targets{{{kMiB, 0.95}, {4 * kMiB, 0.9}, {16 * kMiB, 1.3}, {64 * kMiB, 1.8}}};
  for (const auto& [size, target] : two_ranks) {
    if (ranks == 2 && bytes == size) {
      report.AddTarget(where + std::to_string(size / kMiB) + " MiB: times plain MPI", timing.ratio,
                       ">=", target);
    }
  }
}

void MeasureAll(bool compute, const Options& options, Report& report) {
  for (const std::size_t bytes : options.sizes) {
    for (const char* const transport : {"mpi", "ucx"}) {
      if (!options.transport.empty() && options.transport != transport) continue;
      const auto engine =
          Engine::Create(Settings::FromEnvironment({{"WEIR_TRANSPORT", transport}}));
      std::optional<ComputeThread> computes;
      if (compute) computes.emplace();
      const Timing timing = Measure(*engine, bytes, compute, options.rounds);
      report.AddRow({{"computing", compute ? "yes" : "no"},
                     {"transport", transport},
                     {"KiB", static_cast<double>(bytes) / 1024},
                     {"plain us", 1e6 * timing.plain},
                     {"engine us", 1e6 * timing.engine},
                     {"x plain", timing.ratio}});
      AddTargets(engine->size(), transport, bytes, compute, timing, report);
    }
  }
}

std::optional<Report> Run(const Options& options) {
  if (!options.transport.empty() && options.transport != "mpi" && options.transport != "ucx") {
    throw InvalidArgument("--transport is '" + options.transport + "'; give mpi or ucx");
  }
  int level = MPI_THREAD_SINGLE;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &level);
  int rank = 0, ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  Report report("transport, " + std::to_string(ranks) + " ranks");
  MeasureAll(false, options, report);
  if (!options.idle_only) MeasureAll(true, options, report);
  MPI_Finalize();
  if (rank != 0) return {};
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
        {"--transport", &options.transport, "mpi or ucx, in place of both"},
        {"--idle-only", &options.idle_only, "Leave out the runs beside a computing thread"},
        {"--rounds", &options.rounds, "Timed rounds; the table shows their medians"}}},
      argc, argv, [&] { return weir::bench::Run(options); });
}
