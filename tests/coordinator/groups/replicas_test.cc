// All replicas hold the same bits after every step, on every route.
#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>
#include <string>
#include <tuple>
#include <vector>

#include "tests/coordinator/jobs/job.h"
#include "tests/coordinator/jobs/training.h"

namespace weir::replicas_test {
namespace {

struct Kind {
  const char* name;
  Options compression;
  int steps = 1000;

  friend void PrintTo(const Kind& kind, std::ostream* out) { *out << kind.name; }
};

/// For tensors as small as those of this training.
Options Small(Options options) {
  options["min_elements"] = "100";
  return options;
}

/// Parts of at most 300 elements.
Options WithServers(Options options) {
  options["route"] = "push_pull";
  options["partition_bytes"] = "1200";
  return options;
}

Options Split(Options options) {
  options["route"] = "split";
  options["policy"] = "always";
  return options;
}

Options WithValues(const std::string& values, Options options) {
  options["values"] = values;
  return options;
}

Options Together(Options options) {
  options["selection"] = "bucket";
  return options;
}

std::vector<Kind> Kinds() {
  Options gated = DgcOptions("nesterov", 200);
  gated.insert({{"clip_norm", "1"}, {"skip_nonfinite", "true"}});
  Options masked = DgcOptions("nesterov", 50);
  masked["policy"] = "never";
  Options split = DgcOptions("nesterov", 200);
  split["route"] = "split";
  return {
      {"DgcVanilla", DgcOptions("vanilla", 200)},
      {"DgcNesterovClipped", gated},
      {"DgcMaskedDense", masked},
      {"DgcSplit", split},
      {"DgcTogether", Together(DgcOptions("nesterov", 200))},
      {"DgcTogetherMasked", Together(masked), 200},
      {"DgcTogetherSplit", Together(split), 200},
      {"DgcInt2", WithValues("int2", DgcOptions("nesterov", 200))},
      {"DgcInt8Masked", WithValues("int8", masked), 200},
      {"DgcInt4PushPull", WithValues("int4", WithServers(Small(DgcOptions("vanilla", 50)))), 200},
      {"DgcPushPull", WithServers(Small(DgcOptions("nesterov", 200)))},
      {"DensePushPull", WithServers({{"compressor", "dense"}})},
      {"TopKPushPull",
       WithServers(Small({{"compressor", "topk"}, {"k", "0.02"}, {"ef", "vanilla"}}))},
      {"RandomKPushPull",
       WithServers(Small({{"compressor", "randomk"}, {"k", "0.02"}, {"unbiased", "true"}})), 200},
      {"OneBitPushPull",
       WithServers(Small({{"compressor", "onebit"},
                          {"scaling", "true"},
                          {"ef", "vanilla"},
                          {"momentum", "nesterov"},
                          {"momentum_mu", "0.9"}})),
       200},
      {"DitheringPushPull", WithServers(Small({{"compressor", "dithering"}, {"k", "4"}})), 200},
      {"Fp16PushPull", WithServers({{"compressor", "fp16"}, {"ef", "vanilla"}}), 100},
      {"Bf16PushPull", WithServers({{"compressor", "bf16"}}), 100},
      {"ThresholdPushPull",
       WithServers(Small({{"compressor", "threshold"}, {"threshold", "2"}, {"ef", "vanilla"}})),
       100},
      {"TernGradPushPull", WithServers(Small({{"compressor", "terngrad"}})), 100},
      {"Quant3PushPull", WithServers(Small({{"compressor", "quant3"}, {"ef", "vanilla"}})), 100},
      {"Int8PushPull", WithServers(Small({{"compressor", "int8"}, {"ef", "vanilla"}})), 100},
      {"TopKSplit", Split(Small({{"compressor", "topk"}, {"k", "0.02"}, {"ef", "vanilla"}})), 100},
      {"ThresholdSplit",
       Split(Small({{"compressor", "threshold"}, {"threshold", "2"}, {"ef", "vanilla"}})), 100},
      {"Plain", {}},
      {"Fp16", {{"compressor", "fp16"}}},
      {"Bf16", {{"compressor", "bf16"}}},
      {"TopK", Small({{"compressor", "topk"}, {"k", "0.02"}, {"ef", "vanilla"}})},
      {"RandomK", Small({{"compressor", "randomk"}, {"k", "0.02"}, {"ef", "vanilla"}}), 200},
      {"Threshold", Small({{"compressor", "threshold"}, {"threshold", "2"}, {"ef", "vanilla"}}),
       200},
      {"OneBit",
       Small({{"compressor", "onebit"},
              {"scaling", "true"},
              {"ef", "vanilla"},
              {"momentum", "nesterov"},
              {"momentum_mu", "0.9"}}),
       200},
      {"Signum", {{"compressor", "signum"}}, 200},
      {"PowerSgd", Small({{"compressor", "powersgd"}, {"rank", "2"}}), 200},
      {"PowerSgdClipped",
       Small({{"compressor", "powersgd"},
              {"rampup_begin_step", "5"},
              {"clip_norm", "1"},
              {"skip_nonfinite", "true"}}),
       200},
      {"Dithering", Small({{"compressor", "dithering"}, {"partition", "natural"}}), 200},
      {"TernGrad", Small({{"compressor", "terngrad"}}), 200},
      {"Quant3", Small({{"compressor", "quant3"}, {"ef", "vanilla"}}), 200},
      {"Int8", Small({{"compressor", "int8"}, {"ef", "vanilla"}}), 200}};
}

/// More ranks than cores take their time, and add nothing here.
int StepsOf(int ranks, const Kind& kind) {
  return ranks <= 4 ? std::min(kind.steps, kMostSteps) : 50;
}

std::vector<std::int64_t> GatherHashes(Engine& engine, const std::vector<std::int64_t>& mine) {
  std::vector<std::int64_t> all;
  engine.Wait(engine.Allgather("hashes", ViewOf(std::span<const std::int64_t>(mine)),
                               [&](const Shape& shape, auto) {
                                 all.resize(static_cast<std::size_t>(shape.elements()));
                                 return all.data();
                               }));
  return all;
}

class Replicas : public testing::TestWithParam<std::tuple<int, Kind>> {};

TEST_P(Replicas, AreIdenticalAfterEveryStep) {
  const int ranks = std::get<0>(GetParam());
  const Kind& kind = std::get<1>(GetParam());
  const int steps = StepsOf(ranks, kind);
  RunJob(ranks, [&](Engine& engine) {
    Training training(engine, kind.compression);
    std::vector<std::int64_t> hashes;
    for (int step = 0; step < steps; ++step) {
      training.Step();
      hashes.push_back(static_cast<std::int64_t>(training.Hash()));
    }
    const std::vector<std::int64_t> all = GatherHashes(engine, hashes);
    for (int rank = 0; rank < ranks; ++rank) {
      const auto theirs = all.begin() + rank * steps;
      const auto differing = std::mismatch(hashes.begin(), hashes.end(), theirs).first;
      EXPECT_EQ(differing - hashes.begin(), steps)
          << "rank " << rank << " differs from rank " << engine.rank() << " after that step";
    }
    std::ranges::sort(hashes);
    EXPECT_EQ(std::ranges::adjacent_find(hashes), hashes.end()) << "the weights stand still";
  });
}

INSTANTIATE_TEST_SUITE_P(, Replicas,
                         testing::Combine(testing::ValuesIn(JobSizes()),
                                          testing::ValuesIn(Kinds())),
                         [](const auto& test) {
                           return std::get<1>(test.param).name + std::string("Ranks") +
                                  std::to_string(std::get<0>(test.param));
                         });

class Routes : public testing::TestWithParam<int> {};

// A premise of the identity above: its steps do use different routes.
TEST_P(Routes, AWarmUpPassesThroughDenseMaskedDenseAndGather) {
  const int ranks = GetParam();
  RunJob(ranks, [&](Engine& engine) {
    Training training(engine, DgcOptions("vanilla", 20));
    const StepReport first = training.Step();
    EXPECT_EQ(first.wire_bytes, first.dense_bytes) << "before rampup_begin_step";
    int masked = 0;
    int gathered = 0;
    for (int step = 1; step < 25; ++step) {
      const StepReport report = training.Step();
      if (report.density == 1.0) continue;
      ++(report.wire_bytes == report.dense_bytes ? masked : gathered);
    }
    EXPECT_GT(gathered, 0);
    // With two ranks gathering never carries more than the all-reduce.
    EXPECT_EQ(masked > 0, ranks > 2) << masked << " steps";
  });
}

INSTANTIATE_TEST_SUITE_P(, Routes, testing::ValuesIn(JobSizes()),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace weir::replicas_test
