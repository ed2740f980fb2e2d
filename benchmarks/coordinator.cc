// The cost of coordination alone: CPU time, per tensor and step, of the thread that submits and of
// the one that owns the network, when 1,000 tensors become ready in a different order on every rank
// and nothing has to be moved. Also the cost of an idle job.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "benchmarks/cpu_time.h"
#include "benchmarks/main.h"
#include "benchmarks/report.h"
#include "common/clock.h"
#include "weir/engine.h"

namespace weir::bench {
namespace {

constexpr const char* kNetworkThread = "weir-network";

struct Options {
  std::size_t tensors = 1000;
  int steps = 100;
  int rounds = 5;
  double idle_seconds = 5;
};

/// Cost of a step on this rank, in nanoseconds.
struct Cost {
  double submitting = 0;
  double network = 0;
};

/// A way to submit tensors and to learn when all ranks have them.
class Candidate {
 public:
  virtual ~Candidate() = default;
  virtual void Begin() = 0;
  virtual void Submit(std::size_t tensor) = 0;
  virtual void Finish() = 0;
};

/// Like an optimizer: registered once, submitted by number. Tensors of no elements,
/// fused into buckets or each its own.
class Registered final : public Candidate {
 public:
  Registered(Engine& engine, const std::string& name, std::size_t tensors) {
    GradientGroupSpec spec{.name = name};
    for (std::size_t i = 0; i < tensors; ++i) {
      spec.tensors.push_back({.name = name + std::to_string(i), .shape = {0}});
    }
    group_ = engine.Register(std::move(spec));
  }
  void Begin() override { group_->BeginStep({}); }
  void Submit(std::size_t tensor) override {
    const TensorView empty{nullptr, DType::kFloat32, {0}};
    group_->Submit(tensor, empty, empty);
  }
  void Finish() override {
    group_->EndStep();
    group_->WaitStep();
  }

 private:
  std::unique_ptr<GradientGroup> group_;
};

/// Like single operations: submitted by name, one handle each.
class Named final : public Candidate {
 public:
  Named(Engine& engine, std::size_t tensors) : engine_(engine), handles_(tensors) {
    for (std::size_t i = 0; i < tensors; ++i) names_.push_back("tensor." + std::to_string(i));
  }
  void Begin() override {}
  void Submit(std::size_t tensor) override {
    const TensorView empty{nullptr, DType::kFloat32, {0}};
    handles_[tensor] = engine_.Allreduce(names_[tensor], empty, empty);
  }
  void Finish() override {
    for (const Handle handle : handles_) engine_.Wait(handle);
  }

 private:
  Engine& engine_;
  std::vector<std::string> names_;
  std::vector<Handle> handles_;
};

void SpinUntil(std::int64_t ns) {
  while (NowNs() < ns) {
  }
}

/// Mean cost of reading the thread's CPU clock twice, which MeasuredSubmit adds to itself.
double ClockCost() {
  constexpr int kTimes = 20000;
  std::int64_t sum = 0;
  for (int i = 0; i < kTimes; ++i) {
    const std::int64_t start = ThreadCpuNs();
    sum += ThreadCpuNs() - start;
  }
  return static_cast<double>(sum) / kTimes;
}

/// Runs one step. `gap_ns` 0: a burst; the thread's CPU time covers the whole
/// step. Otherwise a tensor every gap_ns; waiting is not a cost of submission, so
/// calls are measured one by one.
double Step(Candidate& candidate, const std::vector<std::size_t>& order, std::int64_t gap_ns,
            double clock_cost) {
  const std::int64_t start = ThreadCpuNs();
  candidate.Begin();
  if (gap_ns == 0) {
    for (const std::size_t tensor : order) candidate.Submit(tensor);
    candidate.Finish();
    return static_cast<double>(ThreadCpuNs() - start);
  }
  double cost = static_cast<double>(ThreadCpuNs() - start);
  std::int64_t next = NowNs();
  for (const std::size_t tensor : order) {
    SpinUntil(next);
    next += gap_ns;
    const std::int64_t before = ThreadCpuNs();
    candidate.Submit(tensor);
    cost += static_cast<double>(ThreadCpuNs() - before) - clock_cost;
  }
  const std::int64_t before = ThreadCpuNs();
  candidate.Finish();
  return cost + static_cast<double>(ThreadCpuNs() - before);
}

Cost MeasureRound(Candidate& candidate, const Options& options, std::int64_t gap_ns,
                  double clock_cost, std::mt19937& random) {
  std::vector<std::size_t> order(options.tensors);
  std::iota(order.begin(), order.end(), std::size_t{0});
  Cost cost;
  const std::int64_t network = CpuNsOfThreadsNamed(kNetworkThread);
  for (int step = 0; step < options.steps; ++step) {
    std::ranges::shuffle(order, random);
    cost.submitting += Step(candidate, order, gap_ns, clock_cost);
  }
  cost.network = static_cast<double>(CpuNsOfThreadsNamed(kNetworkThread) - network);
  const double each = static_cast<double>(options.steps) * static_cast<double>(options.tensors);
  return {cost.submitting / each, cost.network / each};
}

/// Returns the mean over all ranks.
double MeanOverRanks(Engine& engine, double value) {
  const TensorView view{&value, DType::kFloat64, {1}};
  engine.Wait(engine.Allreduce("benchmark.mean", view, view));
  return value;
}

void MeasureCandidate(Engine& engine, const std::string& name, Candidate& candidate,
                      const Options& options, double burst_target, double spaced_target,
                      Report& report) {
  const double clock_cost = ClockCost();
  std::mt19937 random(static_cast<unsigned>(engine.rank()) + 1);
  for (const std::int64_t gap_ns : {0, 5000}) {
    MeasureRound(candidate, {.tensors = options.tensors, .steps = 5}, gap_ns, clock_cost, random);
    std::vector<double> submitting;
    std::vector<double> network;
    std::vector<double> both;
    for (int round = 0; round < options.rounds; ++round) {
      const Cost cost = MeasureRound(candidate, options, gap_ns, clock_cost, random);
      submitting.push_back(MeanOverRanks(engine, cost.submitting));
      network.push_back(MeanOverRanks(engine, cost.network));
      both.push_back(submitting.back() + network.back());
    }
    const std::string pattern = gap_ns == 0 ? "burst" : "5 us apart";
    report.AddRow({{"candidate", name},
                   {"pattern", pattern},
                   {"submitting ns", Median(submitting)},
                   {"network ns", Median(network)},
                   {"together ns", Median(both)}});
    const double target = gap_ns == 0 ? burst_target : spaced_target;
    if (target > 0) {
      report.AddTarget(name + ", " + pattern + ", ns a tensor", Median(both), "<=", target);
    }
  }
}

/// Measures messages and CPU time of an idle job.
void MeasureIdle(Engine& engine, const Options& options, Report& report) {
  engine.Wait(engine.Barrier("benchmark.idle"));
  // The last round's messages end on other ranks a moment later.
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  const std::int64_t cpu = CpuNsOfThreadsNamed(kNetworkThread);
  const std::uint64_t messages = engine.network_totals().sent_messages;
  std::this_thread::sleep_for(std::chrono::duration<double>(options.idle_seconds));
  const double share =
      static_cast<double>(CpuNsOfThreadsNamed(kNetworkThread) - cpu) / 1e9 / options.idle_seconds;
  const auto sent = static_cast<double>(engine.network_totals().sent_messages - messages);
  const double percent = 100 * MeanOverRanks(engine, share);
  report.AddTarget("idle: messages a rank", MeanOverRanks(engine, sent), "<=", 0);
  report.AddTarget("idle: network thread, % of a core", percent, "<=", 0.05);
}

std::optional<Report> Run(const Options& options) {
  Settings settings = Settings::FromEnvironment();
  settings.cache_capacity = static_cast<int>(options.tensors) + 64;
  const auto engine = Engine::Create(settings);
  Report report("coordinator");
  Registered registered(*engine, "gradient.", options.tensors);
  MeasureCandidate(*engine, "registered", registered, options, 400, 1000, report);
  Named named(*engine, options.tensors);
  MeasureCandidate(*engine, "by name", named, options, 0, 0, report);
  MeasureIdle(*engine, options, report);
  if (engine->rank() != 0) return {};
  return report;
}

}  // namespace
}  // namespace weir::bench

int main(int argc, char** argv) {
  weir::bench::Options options;
  return weir::bench::Main(
      {"coordinator",
       "CPU time of coordinating tensors, without data movement",
       {{"--tensors", &options.tensors, "Tensors a step"},
        {"--steps", &options.steps, "Steps of a round"},
        {"--rounds", &options.rounds, "Rounds; the table shows their medians"},
        {"--idle-seconds", &options.idle_seconds, "How long the job does nothing"}}},
      argc, argv, [&] { return weir::bench::Run(options); });
}
