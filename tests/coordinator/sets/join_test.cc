// Ranks that have no more data: the others go on without them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <sstream>
#include <string>
#include <vector>

#include "compression/state/state.h"
#include "tests/coordinator/jobs/job.h"
#include "tests/coordinator/jobs/result.h"
#include "tests/coordinator/jobs/text_of.h"

namespace weir {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

class Join : public testing::TestWithParam<int> {
 protected:
  int ranks() const { return GetParam(); }
};
/// For jobs in which one rank can go on when another has joined.
class JoinOfSome : public Join {};
/// For jobs in which two ranks are not the whole.
class JoinOfTwoAmongMore : public Join {};

float Reduce(Engine& engine, const std::string& name, float value, ReduceOptions options = {}) {
  const TensorView view{&value, DType::kFloat32, Shape{1}};
  engine.Wait(engine.Allreduce(name, view, view, options));
  return value;
}

/// The sum of 1, 2, 4, ... over the ranks from `first` on.
float PowersFrom(int first, int ranks) { return static_cast<float>((1 << ranks) - (1 << first)); }

TEST_P(Join, SumsAndAveragesGoOnAsIfWhoHasJoinedHadZeros) {
  RunJob(ranks(), [&](Engine& engine) {
    constexpr int kSteps = 7;
    const auto mine = static_cast<float>(1 << engine.rank());
    const auto size = static_cast<float>(ranks());
    for (int round = 0; round < 3; ++round) {
      // Rank 0 has data for kSteps steps, rank 1 for twice as many, ...
      for (int step = 0; step < kSteps * (engine.rank() + 1); ++step) {
        const float present = PowersFrom(step / kSteps, ranks());
        // A name of old, which had a slot before somebody joined, and one for each step.
        EXPECT_EQ(Reduce(engine, "x", mine, {.op = ReduceOp::kSum}), present);
        EXPECT_EQ(Reduce(engine, "step " + std::to_string(step), mine), present / size);
        std::array<float, 2> floats = {mine, -mine};
        std::int64_t integer = 5 << engine.rank();
        const TensorView first{floats.data(), DType::kFloat32, Shape{2}};
        const TensorView second{&integer, DType::kInt64, Shape{}};
        engine.Wait(engine.GroupedAllreduce(
            "g", std::vector<Engine::ReduceTensor>{{first, first}, {second, second}},
            {.op = ReduceOp::kSum, .prescale = 2.0}));
        EXPECT_EQ(floats, (std::array<float, 2>{2 * present, -2 * present}));
        EXPECT_EQ(integer, 10 * static_cast<std::int64_t>(present));
      }
      EXPECT_EQ(engine.Join(), ranks() - 1);
      // All are back.
      EXPECT_EQ(Reduce(engine, "x", mine, {.op = ReduceOp::kSum}), PowersFrom(0, ranks()));
      EXPECT_EQ(Reduce(engine, "y", mine, {.op = ReduceOp::kMax}),
                static_cast<float>(1 << (ranks() - 1)));
    }
  });
}

TEST_P(JoinOfSome, WhatWasSubmittedBeforeJoiningCounts) {
  RunJob(ranks(), [&](Engine& engine) {
    for (int first = 0; first < ranks(); ++first) {
      const ReduceOptions sum{.op = ReduceOp::kSum};
      // From here on these have slots, if not before.
      for (const auto* name : {"late", "later"}) Reduce(engine, name, 1, sum);
      float value = 1, next = 1, alone = 1;
      const auto submit = [&](const std::string& name, float& of) {
        const TensorView view{&of, DType::kFloat32, Shape{1}};
        return engine.Allreduce(name, view, view, sum);
      };
      if (engine.rank() == first) {
        const Handle handles[] = {submit("late", value), submit("later", next),
                                  submit("alone", alone)};
        engine.Join();
        for (const Handle handle : handles) engine.Wait(handle);
        EXPECT_EQ(alone, 1.0f);  // The others have joined without it.
      } else {
        engine.Wait(submit("late", value));
        // With any name: the first rank has joined once this completes without it.
        Reduce(engine, "between", 1);
        engine.Wait(submit("later", next));
        engine.Join();
      }
      EXPECT_EQ(value, static_cast<float>(ranks()));
      EXPECT_EQ(next, static_cast<float>(ranks()));
    }
  });
}

TEST_P(JoinOfSome, OtherOperationsAreRefusedByNameAndTheNextOneRuns) {
  RunJob(ranks(), [&](Engine& engine) {
    if (engine.rank() == 1) {
      engine.Join();
      return;
    }
    float value = 1;
    const TensorView view{&value, DType::kFloat32, Shape{1}};
    Result result;
    const auto refusal = [&](Handle handle) {
      return TextOf<Mismatch>([&] { engine.Wait(handle); });
    };
    const std::string joined = "': ranks [1] have joined";
    for (int round = 0; round < 2; ++round) {
      EXPECT_THAT(
          refusal(engine.Allgather("ag", view, result.For(DType::kFloat32))),
          AllOf(StartsWith("Allgather is not supported with Join at this time. Specify "
                           "sparse_to_dense=True if using DistributedOptimizer. (tensor 'ag"),
                HasSubstr(joined)));
      EXPECT_THAT(
          refusal(engine.Broadcast("bc", view, 0)),
          AllOf(StartsWith("Broadcast is not supported with Join at this time. (tensor 'bc"),
                HasSubstr(joined)));
      std::vector<float> rows(static_cast<std::size_t>(ranks()));
      const ConstTensorView many{rows.data(), DType::kFloat32, Shape{ranks()}};
      EXPECT_THAT(refusal(engine.Alltoall("a2a", many, {}, result.For(DType::kFloat32))),
                  StartsWith("Alltoall is not supported with Join"));
      EXPECT_THAT(refusal(engine.Reducescatter("rs", many, result.For(DType::kFloat32))),
                  StartsWith("Reducescatter is not supported with Join"));
      const std::vector<Engine::RowsTensor> group = {{view, result.For(DType::kFloat32)}};
      EXPECT_THAT(refusal(engine.GroupedAllgather("gag", group)),
                  StartsWith("Allgather is not supported with Join"));
      EXPECT_THAT(refusal(engine.GroupedReducescatter("grs", group)),
                  StartsWith("Reducescatter is not supported with Join"));
      std::int64_t index = 0;
      EXPECT_THAT(refusal(engine.SparseAllreduce(
                      "sp", {Shape{5},
                             {{&index, DType::kInt64, Shape{1, 1}}, result.For(DType::kInt64)},
                             group[0]})),
                  StartsWith("Allgather is not supported with Join at this time. Specify "
                             "sparse_to_dense=True if using DistributedOptimizer. (tensor 'sp"));
      EXPECT_THAT(refusal(engine.Barrier()), StartsWith("Barrier is not supported with Join"));
      for (const ReduceOp op : {ReduceOp::kMin, ReduceOp::kMax, ReduceOp::kProduct}) {
        EXPECT_THAT(refusal(engine.Allreduce("op", view, view, {.op = op})),
                    AllOf(StartsWith("Allreduce is not supported with Join"),
                          HasSubstr("only sums, averages and Adasum are reduced")));
      }
      EXPECT_THAT(TextOf<Mismatch>([&] { engine.AddProcessSet(std::vector<int>{0}); }),
                  HasSubstr("is not supported with Join"));
      EXPECT_EQ(Reduce(engine, "fine", 2.0f, {.op = ReduceOp::kSum}),
                2.0f * static_cast<float>(ranks() - 1));
    }
    engine.Join();
  });
}

/// A few tensors, each a bucket, whose gradients are the same in every job, so that steps can be
/// compared.
class Gradients {
 public:
  static constexpr std::size_t kTensors = 3;
  static constexpr std::size_t kElements = 5000;  ///< Per tensor.
  static Shape Matrix() { return {50, 100}; }     // A vector would travel dense.
  static Settings EachABucket() {
    Settings settings;
    settings.fusion_threshold_bytes = 0;
    return settings;
  }

  Gradients(Engine& engine, const std::map<std::string, std::string>& compression,
            const std::string& name = "gradients")
      : gradient_(kTensors * kElements), update_(kTensors * kElements) {
    GradientGroupSpec spec;
    spec.name = name;
    for (std::size_t t = 0; t < kTensors; ++t) {
      spec.tensors.push_back({.name = "w" + std::to_string(t), .shape = Matrix()});
    }
    spec.compression = compression;
    group_ = engine.Register(std::move(spec));
  }

  const std::vector<float>& Step(float factor = 1.0f) {
    const auto step = static_cast<float>(group_->next_step() + 1);
    for (std::size_t i = 0; i < gradient_.size(); ++i) {
      gradient_[i] = factor * std::sin(static_cast<float>(i) * step);
    }
    group_->BeginStep({});
    for (std::size_t t = 0; t < kTensors; ++t) {
      group_->Submit(t, {&gradient_[t * kElements], DType::kFloat32, Matrix()},
                     {&update_[t * kElements], DType::kFloat32, Matrix()}, nullptr);
    }
    group_->EndStep();
    report_ = group_->WaitStep();
    return update_;
  }
  GradientGroup& group() { return *group_; }
  const StepReport& report() const { return report_; }
  std::vector<SavedArray> Accumulated() const {
    std::ostringstream out;
    group_->Save(out);
    const std::string bytes = out.str();
    return Deserialize(std::as_bytes(std::span(bytes))).arrays;
  }

 private:
  std::vector<float> gradient_;
  std::vector<float> update_;
  StepReport report_;
  std::unique_ptr<GradientGroup> group_;  ///< Last: it may read them until it is gone.
};

/// Every way a bucket can travel: dense, as an array, gathered, masked and split; with a gate and
/// without.
std::vector<std::map<std::string, std::string>> Compressions() {
  const std::map<std::string, std::string> dgc = {{"compressor", "dgc"},   {"density", "0.01"},
                                                  {"momentum", "vanilla"}, {"momentum_mu", "0.9"},
                                                  {"min_elements", "1"},   {"policy", "always"}};
  const auto with = [](std::map<std::string, std::string> options, const std::string& key,
                       const std::string& value) {
    options[key] = value;
    return options;
  };
  return {
      {},
      {{"compressor", "fp16"}},
      {{"compressor", "topk"}, {"density", "0.1"}, {"policy", "always"}, {"min_elements", "100"}},
      dgc,
      with(dgc, "warmup_steps", "6"),
      with(dgc, "policy", "never"),
      with(dgc, "route", "split"),
      // Values rounded twice would differ from those of a job with fewer ranks.
      with(with(dgc, "route", "push_pull"), "values", "fp32"),
      with(dgc, "skip_nonfinite", "true"),
      with(with(dgc, "clip_norm", "20"), "clip_scale", "0")};
}

TEST_P(JoinOfSome, GradientStepsGoOnAndWhoHasJoinedKeepsItsState) {
  constexpr int kBefore = 3;
  constexpr int kAlone = 8;
  for (const auto& compression : Compressions()) {
    SCOPED_TRACE(testing::PrintToString(compression));
    // The last rank alone. The others have the same gradients before they join.
    std::vector<std::vector<float>> alone;
    RunLocal(
        1,
        [&](Engine& engine) {
          Gradients gradient(engine, compression);
          for (int step = 0; step < kBefore + kAlone; ++step) alone.push_back(gradient.Step());
        },
        Gradients::EachABucket());
    RunJob(
        ranks(),
        [&](Engine& engine) {
          Gradients gradient(engine, compression);
          Gradients beside(engine, {}, "beside");  // Its steps come between those of the other.
          for (int step = 0; step < kBefore; ++step) gradient.Step();
          const bool last = engine.rank() == ranks() - 1;
          const std::vector<SavedArray> before = gradient.Accumulated();
          if (last) {
            for (std::size_t step = kBefore; step < alone.size(); ++step) {
              std::vector<float> expected = alone[step];
              for (float& value : expected) value /= static_cast<float>(ranks());
              const std::vector<float>& update = gradient.Step();
              if (step % 2 == 0) beside.Step();
              // A quotient is rounded once more in the job of several ranks: in fp16, or in fp32.
              const float unit =
                  compression.contains("compressor") && compression.at("compressor") == "fp16"
                      ? 0x1p-11f
                      : 0x1p-23f;
              for (std::size_t i = 0; i < update.size(); ++i) {
                ASSERT_NEAR(update[i], expected[i],
                            unit * std::max(std::abs(expected[i]), 0x1p-13f))
                    << "step " << step << ", entry " << i;
              }
            }
          }
          EXPECT_EQ(engine.Join(), ranks() - 1);
          EXPECT_EQ(gradient.group().next_step(), kBefore + kAlone);
          EXPECT_EQ(beside.group().next_step(), kAlone / 2);
          if (!last) {
            EXPECT_EQ(gradient.Accumulated(), before);
          }
          // All of them step together again, to the same bits.
          const std::vector<float>& update = gradient.Step();
          std::vector<float> average = update;
          const TensorView view{average.data(), DType::kFloat32,
                                Shape{static_cast<std::int64_t>(average.size())}};
          engine.Wait(engine.Allreduce("average", view, view, {.op = ReduceOp::kMax}));
          EXPECT_TRUE(average == update);
        },
        Gradients::EachABucket());
  }
}

TEST_P(JoinOfSome, RanksThatLackGradientsGoOnWithoutWhoHasJoined) {
  RunJob(ranks(), [&](Engine& engine) {
    const Shape shape{40, 50};
    const auto group = engine.Register(
        {.name = "g", .tensors = {{.name = "w", .shape = shape}, {.name = "v", .shape = shape}}});
    std::vector<float> gradient(2000, 1.0f), update(2000);
    const auto step = [&](bool lacks) {
      group->BeginStep({});
      if (lacks) group->NoteUnused(std::vector<std::size_t>{1});
      for (std::size_t tensor = 0; tensor < 2; ++tensor) {
        group->Submit(tensor, {gradient.data(), DType::kFloat32, shape},
                      {update.data(), DType::kFloat32, shape});
      }
      group->EndStep();
      EXPECT_EQ(group->UnusedByAll(),
                lacks ? std::vector<std::size_t>{1} : std::vector<std::size_t>{});
      group->WaitStep();
    };
    step(false);
    for (int i = 0; engine.rank() > 0 && i < 4; ++i) {
      step(i % 2 == 0);
      EXPECT_FLOAT_EQ(update.front(),
                      static_cast<float>(ranks() - 1) / static_cast<float>(ranks()));
    }
    engine.Join();
    step(true);
  });
}

TEST_P(JoinOfSome, AStepThatIsSkippedIsSkippedByWhoHasJoined) {
  RunJob(ranks(), [&](Engine& engine) {
    Gradients gradient(engine, {{"compressor", "dgc"},
                                {"density", "0.01"},
                                {"min_elements", "1"},
                                {"skip_nonfinite", "true"}});
    if (engine.rank() == 0) {
      gradient.Step();
      gradient.Step(NAN);
      EXPECT_TRUE(gradient.report().skipped);
      gradient.Step();
      EXPECT_FALSE(gradient.report().skipped);
    }
    EXPECT_EQ(engine.Join(), 0);
    EXPECT_EQ(gradient.group().next_step(), 3);
  });
}

TEST_P(Join, IsRefusedInTheMiddleOfAStep) {
  RunJob(ranks(), [&](Engine& engine) {
    Gradients gradient(engine, {});
    gradient.group().BeginStep({});
    EXPECT_THAT(TextOf<InvalidArgument>([&] { engine.Join(); }),
                HasSubstr("Join in the middle of a step of 'gradients'"));
    gradient.group().EndStep();
    gradient.group().WaitStep();
    EXPECT_GE(engine.Join(), 0);
  });
}

TEST_P(JoinOfTwoAmongMore, ConcernsOneProcessSetAlone) {
  RunJob(ranks(), [&](Engine& engine) {
    const std::vector<int> pair = {0, ranks() - 1};
    const int set = engine.AddProcessSet(pair);
    if (engine.rank() == 0) {
      EXPECT_EQ(engine.Join(set), ranks() - 1);
    } else if (engine.rank() == ranks() - 1) {
      EXPECT_EQ(Reduce(engine, "x", 3, {.op = ReduceOp::kSum, .process_set = set}), 3.0f);
      float value = 0;
      EXPECT_THAT(TextOf<Mismatch>([&] {
                    engine.Wait(engine.Broadcast("b", {&value, DType::kFloat32, Shape{1}}, 0,
                                                 nullptr, set));
                  }),
                  HasSubstr("ranks [0] have joined"));
      EXPECT_EQ(engine.Join(set), ranks() - 1);
    }
    EXPECT_EQ(Reduce(engine, "x", 1, {.op = ReduceOp::kSum}), static_cast<float>(ranks()));
  });
}

TEST_P(JoinOfSome, ARankThatLeavesEndsTheWaitOfThoseWhoHaveJoined) {
  RunJob(ranks(), [&](Engine& engine) {
    Gradients gradient(engine, {});
    if (engine.rank() == 0) {
      Reduce(engine, "x", 1);
      return;
    }
    EXPECT_THAT(TextOf<ShutDown>([&] { engine.Join(); }), HasSubstr("rank 0"));
  });
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(JoinOfSome);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(JoinOfTwoAmongMore);
INSTANTIATE_TEST_SUITE_P(Ranks, Join, testing::ValuesIn(JobSizes()),
                         testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(Ranks, JoinOfSome, testing::ValuesIn(JobSizesFrom(2)),
                         testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(Ranks, JoinOfTwoAmongMore, testing::ValuesIn(JobSizesFrom(3)),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace weir
