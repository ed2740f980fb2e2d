// PipeCompress's comparison (Shi et al., ICC 2022): steps of its models with compression in line
// with the backward pass, in a thread, and in a process, one rank that trains with a free core
// beside it and a link of 1 Gb/s to a rank that only answers. Passes are arithmetic whose amount is
// set by what compression takes: forward half as long, backward as long, where overlap can gain
// most.
#include <sched.h>

#include <array>
#include <cstdint>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "benchmarks/main.h"
#include "benchmarks/model_shapes.h"
#include "benchmarks/report.h"
#include "benchmarks/step_split.h"
#include "common/clock.h"
#include "coordinator/engine/engine_impl.h"
#include "coordinator/engine/local_job.h"
#include "tests/ops/transport/delayed_transport.h"

namespace weir::bench {
namespace {

using CompressionOptions = std::map<std::string, std::string>;

struct Options {
  std::string models = "resnet20,googlenet,resnet50,vgg16";
  int steps = 6;
  int rounds = 7;
  bool controls = true;
};

/// Arithmetic of a thread: multiplications and additions on 16 KiB.
class Arithmetic {
 public:
  void Compute(std::int64_t units) {
    for (std::int64_t unit = 0; unit < units; ++unit) {
      for (float& x : values_) x = x * 0.999f + 0.001f;
    }
  }
  /// Units that take a millisecond while nothing else runs.
  double UnitsPerMs() {
    std::vector<double> seconds;
    for (int i = 0; i < 15; ++i) seconds.push_back(Seconds([&] { Compute(2000); }));
    return 2000.0 / (1e3 * Median(seconds));
  }

 private:
  std::array<float, 4096> values_{};
};

struct Candidate {
  std::string name;
  PipelineMode mode;
  CompressionOptions compression;
};

struct Setup {
  std::string model;
  std::vector<NamedShape> shapes;  ///< In forward order.
  std::string compressor;
  CompressionOptions compression;
  bool one_core = false;
};

/// A model's gradients, which all candidates read, and the memory of their updates.
struct Gradients {
  explicit Gradients(const std::vector<NamedShape>& shapes) {
    std::mt19937 random(1);
    std::normal_distribution<float> normal;
    std::vector<float> noise(1 << 20);
    for (float& x : noise) x = normal(random);
    for (const NamedShape& tensor : shapes) {
      const auto n = static_cast<std::size_t>(tensor.shape.elements());
      std::vector<float>& values = gradients.emplace_back(n);
      for (std::size_t i = 0; i < n; ++i) values[i] = noise[(i + gradients.size()) % noise.size()];
      updates.emplace_back(n);
    }
  }
  std::vector<std::vector<float>> gradients;
  std::vector<std::vector<float>> updates;
};

/// Work of the two passes, in units of Arithmetic.
struct Passes {
  std::int64_t forward = 0;
  std::int64_t backward = 0;
};

/// Returns what a tensor's part of a pass is measured by.
std::int64_t ProductsOf(const NamedShape& tensor) { return tensor.uses * tensor.shape.elements(); }

/// The rank that trains, and the one that answers, of one candidate.
class Job {
 public:
  Job(const Candidate& candidate, const Setup& setup, Gradients& gradients)
      : setup_(setup), gradients_(gradients) {
    for (const NamedShape& tensor : setup.shapes) products_ += ProductsOf(tensor);
    const auto link =
        std::make_shared<VirtualNetwork>(2, VirtualNetwork::Link{.bytes_per_second = 125e6});
    job_ = std::make_unique<LocalJob>(2, [link](int, std::unique_ptr<Transport> direct) {
      return std::make_unique<DelayedTransport>(std::move(direct), link);
    });
    Settings settings;
    settings.pipeline = candidate.mode;
    settings.worker_threads = 1;
    GradientGroupSpec spec{.name = setup.model, .compression = candidate.compression};
    for (const NamedShape& tensor : setup.shapes) {
      spec.tensors.push_back({.name = tensor.name, .shape = tensor.shape});
    }
    answering_ = std::jthread([this, settings, spec] {
      EngineImpl engine(settings, job_->Environment(1));
      const auto group = engine.Register(spec);
      engine.Join(0);  // It contributes nothing, and computes nothing, in all steps.
    });
    engine_ = std::make_unique<EngineImpl>(settings, job_->Environment(0));
    group_ = engine_->Register(spec);
  }
  ~Job() {
    engine_->Join(0);
    group_.reset();
    engine_.reset();  // Both leave together.
  }
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  Split Step(const Passes& passes) {
    const std::uint64_t first = engine_->recorder().added();
    const std::int64_t start = NowNs();
    arithmetic_.Compute(passes.forward);
    const std::int64_t after_forward = NowNs();
    std::int64_t backward_ns = 0;
    std::vector<Interval> waits;
    group_->BeginStep({.learning_rates = std::span<const float>(&kLearningRate, 1)});
    std::int64_t products = 0, computed = 0;
    for (std::size_t i = setup_.shapes.size(); i-- > 0;) {
      const Shape& shape = setup_.shapes[i].shape;
      products += ProductsOf(setup_.shapes[i]);
      const auto until =
          static_cast<std::int64_t>(static_cast<double>(passes.backward) *
                                    static_cast<double>(products) / static_cast<double>(products_));
      const std::int64_t begin = NowNs();
      arithmetic_.Compute(until - computed);
      computed = until;
      waits.push_back({.start_ns = NowNs()});
      backward_ns += waits.back().start_ns - begin;
      group_->Submit(i, {gradients_.gradients[i].data(), DType::kFloat32, shape},
                     {gradients_.updates[i].data(), DType::kFloat32, shape});
      waits.back().end_ns = NowNs();
    }
    waits.push_back({.start_ns = NowNs()});
    group_->EndStep();
    group_->WaitStep();
    waits.back().end_ns = NowNs();
    Split split = SplitOf(engine_->recorder(), first, waits.back().end_ns - start, waits);
    split.forward = static_cast<double>(after_forward - start) / 1e6;
    split.backward = static_cast<double>(backward_ns) / 1e6;
    return split;
  }

 private:
  static constexpr float kLearningRate = 0.1f;

  const Setup& setup_;
  Gradients& gradients_;
  std::int64_t products_ = 0;  ///< Of a pass of one sample.
  Arithmetic arithmetic_;
  std::unique_ptr<LocalJob> job_;
  std::jthread answering_;
  std::unique_ptr<EngineImpl> engine_;
  std::unique_ptr<GradientGroup> group_;
};

/// Keeps this thread, and the threads and processes that it starts, on one core while it lives.
class OneCore {
 public:
  OneCore() {
    sched_getaffinity(0, sizeof(before_), &before_);
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(0, &one);
    sched_setaffinity(0, sizeof(one), &one);
  }
  ~OneCore() { sched_setaffinity(0, sizeof(before_), &before_); }
  OneCore(const OneCore&) = delete;
  OneCore& operator=(const OneCore&) = delete;

 private:
  cpu_set_t before_{};
};

struct Measured {
  std::string name;
  std::vector<Split> rounds;  ///< Medians of each round's steps.
  Split median;
};

constexpr std::size_t kSerial = 0, kThread = 1, kProcess = 2;

std::vector<Candidate> CandidatesOf(const Setup& setup) {
  const auto always = [](CompressionOptions options) {
    options["policy"] = "always";
    return options;
  };
  return {{"serial", PipelineMode::kSerial, always(setup.compression)},
          {"thread", PipelineMode::kThread, always(setup.compression)},
          {"process", PipelineMode::kProcess, always(setup.compression)},
          {"dense", PipelineMode::kThread, {}},
          {"fp16", PipelineMode::kThread, {{"compressor", "fp16"}}}};
}

std::vector<Measured> Measure(const Setup& setup, const Options& options) {
  std::unique_ptr<OneCore> core;
  if (setup.one_core) core = std::make_unique<OneCore>();
  Gradients gradients(setup.shapes);
  std::vector<std::unique_ptr<Job>> jobs;
  std::vector<Measured> measured;
  for (const Candidate& candidate : CandidatesOf(setup)) {
    jobs.push_back(std::make_unique<Job>(candidate, setup, gradients));
    measured.push_back({.name = candidate.name});
  }
  std::vector<Split> alone;
  for (int i = 0; i < 6; ++i) {
    const Split split = jobs[kSerial]->Step({});
    if (i > 2) alone.push_back(split);  // The first ones touch their memory.
  }
  const double backward = MedianOf(alone).compression * Arithmetic().UnitsPerMs();
  const Passes passes{.forward = static_cast<std::int64_t>(backward / 2),
                      .backward = static_cast<std::int64_t>(backward)};
  for (int round = -1; round < options.rounds; ++round) {
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      const std::size_t j = round % 2 == 0 ? i : jobs.size() - 1 - i;
      std::vector<Split> splits;
      for (int step = 0; step < options.steps; ++step) splits.push_back(jobs[j]->Step(passes));
      if (round >= 0) measured[j].rounds.push_back(MedianOf(splits));
    }
  }
  for (Measured& one : measured) one.median = MedianOf(one.rounds);
  return measured;
}

/// The part of the shorter one of two works by which each got longer when they ran together: 0 if
/// they did not feel each other, 1 if they took turns.
double Kappa(const Split& apart, const Split& together) {
  const double longer =
      together.backward - apart.backward + together.compression - apart.compression;
  return longer / (2 * std::min(apart.backward, apart.compression));
}

double RatioOfSteps(const Measured& one, const Measured& base) {
  std::vector<double> times, bases;
  for (const Split& split : one.rounds) times.push_back(split.step);
  for (const Split& split : base.rounds) bases.push_back(split.step);
  return MedianRatio(times, bases);
}

void AddRows(const Setup& setup, const std::vector<Measured>& measured, Report& report) {
  const Measured& serial = measured[kSerial];
  const std::string name =
      setup.model + " " + setup.compressor + (setup.one_core ? ", one core" : "");
  for (std::size_t i = 0; i < measured.size(); ++i) {
    const Split& split = measured[i].median;
    const bool overlaps = i == kThread || i == kProcess;
    report.AddRow({{"setup", name},
                   {"mode", measured[i].name},
                   {"step ms", split.step},
                   {"forward", split.forward},
                   {"backward", split.backward},
                   {"compression", split.compression},
                   {"exposed compression", split.exposed_compression},
                   {"exposed exchange", split.exposed_exchange},
                   {"steps/s over serial", 1 / RatioOfSteps(measured[i], serial)},
                   {"kappa", overlaps ? Kappa(serial.median, split) : 0.0}});
  }
  const double thread = RatioOfSteps(measured[kThread], serial);
  const double process = RatioOfSteps(measured[kProcess], serial);
  if (setup.one_core) {
    report.AddTarget(name + ": gain of the better one", 1 / std::min(thread, process) - 1,
                     "<=", 0.05);
    return;
  }
  report.AddTarget(name + ": step, the better one over serial", std::min(thread, process),
                   "<=", 1.0);
  const auto hidden = [&](std::size_t i) {
    const Split& split = measured[i].median;
    return 1 - split.exposed_compression / split.compression;
  };
  report.AddTarget(name + ": hidden part of compression",
                   std::max(hidden(kThread), hidden(kProcess)), ">=", 0.9);
}

/// Tensors so small that handing them over costs more than compressing them.
std::vector<NamedShape> Tiny() {
  std::vector<NamedShape> model;
  for (int i = 0; i < 8; ++i) model.push_back({"tiny" + std::to_string(i), Shape{16, 16}});
  return model;
}

Report Run(const Options& options) {
  const CompressionOptions top = {{"compressor", "topk"}, {"k", "0.01"}, {"ef", "vanilla"}};
  const CompressionOptions quant3 = {{"compressor", "quant3"}, {"ef", "vanilla"}};
  const std::vector<std::pair<std::string, std::function<std::vector<NamedShape>()>>> models = {
      {"resnet20", ResNet20}, {"googlenet", GoogLeNet}, {"resnet50", ResNet50}, {"vgg16", Vgg16}};
  Report report("pipeline");
  const auto measure = [&](const Setup& setup) {
    std::cerr << setup.model << ", " << setup.compressor << (setup.one_core ? ", one core" : "")
              << '\n';
    AddRows(setup, Measure(setup, options), report);
  };
  for (const auto& [model, shapes] : models) {
    if (("," + options.models + ",").find("," + model + ",") == std::string::npos) continue;
    measure({.model = model, .shapes = shapes(), .compressor = "quant3", .compression = quant3});
    measure({.model = model, .shapes = shapes(), .compressor = "top 1 %", .compression = top});
  }
  if (!options.controls) return report;
  measure({.model = "resnet50",
           .shapes = ResNet50(),
           .compressor = "top 1 %",
           .compression = top,
           .one_core = true});
  CompressionOptions all = top;
  all["min_elements"] = "1";
  measure({.model = "tiny tensors", .shapes = Tiny(), .compressor = "top 1 %", .compression = all});
  return report;
}

}  // namespace
}  // namespace weir::bench

int main(int argc, char** argv) {
  weir::bench::Options options;
  return weir::bench::Main(
      {"pipeline",
       "Steps with compression in line, in a thread, in a process",
       {{"--models", &options.models, "Some of resnet20,googlenet,resnet50,vgg16"},
        {"--steps", &options.steps, "Steps of a round"},
        {"--rounds", &options.rounds, "Rounds; the table shows their medians"},
        {"--controls", &options.controls, "Also one core, and tiny tensors"}}},
      argc, argv, [&] { return weir::bench::Run(options); });
}
