// The bits depend on the data alone: not on the transport, the pipeline, the number of worker
// threads or the fusion.

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "common/half.h"
#include "tests/coordinator/jobs/job.h"
#include "tests/coordinator/jobs/training.h"

namespace weir {
namespace {

using Hashes = std::vector<std::uint64_t>;

/// The weights' hash after each of 50 steps, for DGC through the whole warm-up.
Hashes TrainWith(Engine& engine, const Options& compression) {
  Training training(engine, compression);
  Hashes hashes;
  for (int step = 0; step < 50; ++step) {
    training.Step();
    hashes.push_back(training.Hash());
  }
  return hashes;
}

Hashes Train(Engine& engine) { return TrainWith(engine, DgcOptions("nesterov", 30)); }

/// The sum of arrays whose rounding depends on the order in which ranks are added.
std::string AllreduceBits(Engine& engine, DType dtype, std::size_t elements) {
  std::string bytes(elements * SizeOf(dtype), '\0');
  for (std::size_t i = 0; i < elements; ++i) {
    const auto rank = static_cast<std::size_t>(engine.rank());
    const double value = std::sin(static_cast<double>(1 + i * 7 + rank * 1001)) *
                         static_cast<double>(1 + (i + rank) % 5 * 100);
    const auto single = static_cast<float>(value);
    const std::uint16_t half =
        dtype == DType::kFloat16 ? FloatToHalf(single) : FloatToBFloat16(single);
    const void* source = &half;
    if (dtype == DType::kFloat32) source = &single;
    if (dtype == DType::kFloat64) source = &value;
    std::memcpy(bytes.data() + i * SizeOf(dtype), source, SizeOf(dtype));
  }
  const TensorView view{bytes.data(), dtype, Shape{static_cast<std::int64_t>(elements)}};
  engine.Wait(engine.Allreduce("sum", view, view, {.op = ReduceOp::kAverage}));
  return bytes;
}

class SameBits : public testing::TestWithParam<int> {
 protected:
  int ranks() const { return GetParam(); }
};

TEST_P(SameBits, DenseAllreduceOnThreadsAndHere) {
  Settings settings;
  settings.deterministic = true;
  for (const DType dtype : {DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kBFloat16}) {
    for (const std::size_t elements : {std::size_t{100}, std::size_t{100'003}}) {
      const auto sum = [&](Engine& engine) { return AllreduceBits(engine, dtype, elements); };
      const auto here = Results(RunJob, ranks(), sum, settings);
      if (!here.contains(0)) continue;  // Replicas are equal; one comparison is enough.
      const auto threads = Results(RunLocal, ranks(), sum, settings);
      EXPECT_TRUE(here.at(0) == threads.at(0)) << Name(dtype) << " x " << elements;
    }
  }
}

TEST_P(SameBits, TrainingOnThreadsAndHere) {
  const auto here = Results(RunJob, ranks(), Train);
  if (!here.contains(0)) return;
  EXPECT_EQ(here.at(0), Results(RunLocal, ranks(), Train).at(0));
}

TEST_P(SameBits, OfLowBitValuesOnThreadsAndHere) {
  for (const char* values : {"int8", "int4", "int2"}) {
    Options options = DgcOptions("vanilla", 30);
    options["values"] = values;
    const auto train = [&](Engine& engine) { return TrainWith(engine, options); };
    const auto here = Results(RunJob, ranks(), train);
    if (!here.contains(0)) continue;
    EXPECT_EQ(here.at(0), Results(RunLocal, ranks(), train).at(0)) << values;
  }
}

TEST_P(SameBits, InSerialAndThreadedPipelines) {
  Settings serial;
  serial.pipeline = PipelineMode::kSerial;
  EXPECT_EQ(Results(RunJob, ranks(), Train), Results(RunJob, ranks(), Train, serial));
}

TEST_P(SameBits, FusedAndAlone) {
  Settings alone;
  alone.fusion_threshold_bytes = 0;
  EXPECT_EQ(Results(RunJob, ranks(), Train), Results(RunJob, ranks(), Train, alone));
}

// With "always", or the warm-up would travel dense where the routes carry more than that.
TEST_P(SameBits, GatheredAndSplit) {
  Options dgc = DgcOptions("nesterov", 30);
  dgc["policy"] = "always";
  const Options half = {{"compressor", "dgc"},  {"density", "0.03"}, {"momentum", "vanilla"},
                        {"momentum_mu", "0.9"}, {"values", "fp16"},  {"policy", "always"}};
  const Options topk = {{"compressor", "topk"}, {"k", "0.02"},           {"ef", "vanilla"},
                        {"values", "fp16"},     {"min_elements", "100"}, {"policy", "always"}};
  Options together = half;
  together["selection"] = "bucket";
  // It sends as many entries as happen to be large, so that frames differ in length.
  Options threshold = topk;
  threshold.erase("k");
  threshold["compressor"] = "threshold";
  threshold["threshold"] = "2";
  for (Options options : {dgc, half, together, topk, threshold}) {
    SCOPED_TRACE(testing::PrintToString(options));
    const auto train = [&](Engine& engine) { return TrainWith(engine, options); };
    const auto gathered = Results(RunJob, ranks(), train);
    options["route"] = "split";
    EXPECT_EQ(Results(RunJob, ranks(), train), gathered);
  }
}

TEST_P(SameBits, WithOneAndFourWorkerThreads) {
  // Large enough to be worth splitting.
  constexpr std::int64_t kElements = 300'000;
  const auto train = [&](Engine& engine) {
    const Shape shape{kElements / 100, 100};
    const auto group = engine.Register({.name = "large",
                                        .tensors = {{.name = "w", .shape = shape}},
                                        .compression = {{"compressor", "dgc"}}});
    std::vector<float> gradient(kElements);
    std::vector<float> update(kElements);
    std::vector<float> seen;
    for (int step = 0; step < 4; ++step) {
      for (std::size_t i = 0; i < gradient.size(); ++i) {
        // Many equal magnitudes: ties are broken by index, however the tensor is split.
        gradient[i] = static_cast<float>((i * 7919 + static_cast<std::size_t>(engine.rank())) % 97);
      }
      group->BeginStep({});
      group->Submit(0, {gradient.data(), DType::kFloat32, shape},
                    {update.data(), DType::kFloat32, shape});
      group->EndStep();
      group->WaitStep();
      seen.insert(seen.end(), update.begin(), update.end());
    }
    return seen;
  };
  Settings one;
  one.worker_threads = 1;
  Settings four;
  four.worker_threads = 4;
  const auto expected = Results(RunJob, ranks(), train, one);
  EXPECT_TRUE(Results(RunJob, ranks(), train, four) == expected);
}

INSTANTIATE_TEST_SUITE_P(Ranks, SameBits, testing::ValuesIn(JobSizes()),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace weir
