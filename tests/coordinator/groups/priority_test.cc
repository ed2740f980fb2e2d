// Groups whose buckets overtake each other on the network: the same results, whatever the order.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "ops/transport/chunk_stream.h"
#include "tests/coordinator/jobs/job.h"
#include "weir/engine.h"

namespace weir::priority_test {
namespace {

using Options = std::map<std::string, std::string>;
using Tensors = std::vector<std::vector<float>>;

constexpr std::size_t kTensors = 9;

/// Two tensors travel in more chunks than are in flight at once, where all of them are sent.
std::size_t ElementsOf(std::size_t tensor, const Options& compression) {
  const bool is_large = tensor % 5 == 1 && !compression.contains("density");
  return is_large ? 6 * ChunkStream::kDefaultChunkBytes / sizeof(float) : 1000;
}

GradientGroupSpec SpecOf(const std::string& name, const Options& compression, bool by_priority) {
  GradientGroupSpec spec{.name = name, .compression = compression, .by_priority = by_priority};
  for (std::size_t i = 0; i < kTensors; ++i) {
    spec.tensors.push_back({.name = "t" + std::to_string(i),
                            .shape = Shape{static_cast<std::int64_t>(ElementsOf(i, compression))},
                            .priority = static_cast<int>(kTensors - i)});
  }
  return spec;
}

Tensors GradientsOf(const GradientGroupSpec& spec, int rank, int step) {
  Tensors gradients;
  for (std::size_t i = 0; i < kTensors; ++i) {
    auto& gradient =
        gradients.emplace_back(static_cast<std::size_t>(spec.tensors[i].shape.elements()));
    auto value = static_cast<float>(1 + rank + 10 * step) / static_cast<float>(7 + i);
    for (float& entry : gradient) entry = value = value * 1.0001f - 0.001f;
  }
  return gradients;
}

/// Steps of a group, with operations of the program in between. Each rank submits in an order of
/// its own. Returns all results.
Tensors Train(Engine& engine, GradientGroup& group, std::mt19937& random, int steps) {
  Tensors all;
  for (int step = 0; step < steps; ++step) {
    Tensors values = GradientsOf(group.spec(), engine.rank(), step);
    std::vector<std::size_t> order(kTensors);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::shuffle(order, random);
    std::vector<Handle> handles(kTensors);
    group.BeginStep({});
    float own = 1.0f;
    const TensorView one{&own, DType::kFloat32, Shape{1}};
    const Handle sum =
        engine.Allreduce(group.spec().name + " sum", one, one, {.op = ReduceOp::kSum});
    for (const std::size_t i : order) {
      const TensorView view{values[i].data(), DType::kFloat32, group.spec().tensors[i].shape};
      handles[i] = group.Submit(i, view, view);
    }
    group.EndStep();
    group.GoOn();
    for (std::size_t i = 0; i < kTensors; ++i) {
      engine.Wait(handles[i]);
      all.push_back(values[i]);  // What a program reads as soon as it may.
    }
    engine.Wait(sum);
    EXPECT_EQ(own, static_cast<float>(engine.size()));
    group.WaitStep();
  }
  return all;
}

class ByPriority : public testing::TestWithParam<Options> {};

TEST_P(ByPriority, ResultsAreThoseOfAnyOrder) {
  Settings settings;
  settings.fusion_threshold_bytes = 1;  // A bucket each.
  constexpr unsigned kSeed = 1;
  const int ranks = JobSizes().back();
  SCOPED_TRACE(testing::Message() << ranks << " ranks, seed " << kSeed);
  RunJob(
      ranks,
      [&](Engine& engine) {
        std::mt19937 random(kSeed * 100 + static_cast<unsigned>(engine.rank()));
        const auto ordered = engine.Register(SpecOf("ordered", GetParam(), true));
        const auto plain = engine.Register(SpecOf("plain", GetParam(), false));
        EXPECT_TRUE(Train(engine, *ordered, random, 2) == Train(engine, *plain, random, 2));
      },
      settings);
}

std::string NameOf(const testing::TestParamInfo<Options>& info) {
  std::string name;
  for (const auto& [key, value] : info.param) name += value;
  std::erase_if(name, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; });
  return name;
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, ByPriority,
    testing::Values(Options{{"compressor", "dense"}}, Options{{"compressor", "fp16"}},
                    Options{{"compressor", "powersgd"}},
                    Options{{"compressor", "dgc"}, {"density", "0.01"}, {"route", "split"}},
                    Options{{"compressor", "dgc"}, {"density", "0.01"}, {"clip_norm", "1"}}),
    NameOf);

TEST(ByPriorityOfRanks, MustBeEqual) {
  for (const int ranks : JobSizesFrom(2)) {
    RunJob(ranks, [](Engine& engine) {
      EXPECT_THROW(engine.Register(SpecOf("ordered", {}, engine.rank() == 0)), Mismatch);
    });
  }
}

}  // namespace
}  // namespace weir::priority_test
