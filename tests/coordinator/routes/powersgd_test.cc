// Two factors in two exchanges of one step: the engine agrees with a simulation of the ranks.
#include <gtest/gtest.h>

#include <cmath>
#include <sstream>
#include <string>
#include <vector>

#include "compression/state/state.h"
#include "tests/compression/powersgd/factor_ranks.h"
#include "tests/coordinator/jobs/job.h"

namespace weir::powersgd_test {
namespace {

using test::FactorRanks;
using test::Floats;
using Options = std::map<std::string, std::string>;

const Shape kMatrix{300, 200};
const Shape kVector{70};
constexpr std::size_t kMatrixSize = 300 * 200;
constexpr std::size_t kSize = kMatrixSize + 70;
constexpr std::size_t kFactorFloats = (300 + 200) * 4;
const Options kOptions = {{"compressor", "powersgd"}};

/// A matrix and a vector, one after the other: what a rank has in a step.
Floats GradientOf(int rank, std::int64_t step) {
  Floats gradient(kSize);
  for (std::size_t i = 0; i < kSize; ++i) {
    const double x = static_cast<double>(i) * (1.0 + 0.1 * rank) + 10.0 * static_cast<double>(step);
    gradient[i] = static_cast<float>(std::sin(x * x));
  }
  return gradient;
}

/// One rank's engine.
class Group {
 public:
  Group(Engine& engine, const Options& options, ReduceOp op = ReduceOp::kAverage)
      : rank_(engine.rank()),
        group_(engine.Register(
            {.name = std::string(Name(op)),
             .tensors = {{.name = "w", .shape = kMatrix}, {.name = "b", .shape = kVector}},
             .compression = options,
             .op = op})) {}

  const Floats& Step(float rate = 0.0f) {
    gradient_ = GradientOf(rank_, group_->next_step());
    group_->BeginStep({.learning_rates = std::span(&rate, 1)});
    group_->Submit(0, {gradient_.data(), DType::kFloat32, kMatrix},
                   {update_.data(), DType::kFloat32, kMatrix});
    group_->Submit(1, {gradient_.data() + kMatrixSize, DType::kFloat32, kVector},
                   {update_.data() + kMatrixSize, DType::kFloat32, kVector});
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
  const int rank_;
  Floats gradient_ = Floats(kSize);
  Floats update_ = Floats(kSize);
  StepReport report_;
  std::unique_ptr<GradientGroup> group_;  ///< Last: it may read them until it is gone.
};

/// All ranks of a job, simulated; those before `first_present` have joined.
class Simulation {
 public:
  explicit Simulation(int ranks) : ranks_(ranks), matrix_(Number(ranks), kOptions, kMatrix) {}

  Floats Step(std::int64_t step, const StepContext& context, int first_present = 0) {
    std::vector<Floats> matrices(Number(ranks_));
    Floats vector(kSize - kMatrixSize);
    for (int r = first_present; r < ranks_; ++r) {
      const Floats gradient = GradientOf(r, step);
      matrices[Number(r)].assign(gradient.begin(), gradient.begin() + kMatrixSize);
      for (std::size_t i = 0; i < vector.size(); ++i) vector[i] += gradient[kMatrixSize + i];
    }
    Floats update = matrix_.Step(context, matrices);
    for (const float sum : vector) update.push_back(sum / static_cast<float>(ranks_));
    return update;
  }
  Floats Error(int rank) { return matrix_.StateOf(Number(rank), "error"); }

 private:
  static std::size_t Number(int rank) { return static_cast<std::size_t>(rank); }
  const int ranks_;
  FactorRanks matrix_;
};

class PowerSgdEngine : public testing::TestWithParam<int> {
 protected:
  int ranks() const { return GetParam(); }
};
class PowerSgdEngineOfSome : public PowerSgdEngine {};

TEST_P(PowerSgdEngine, UpdatesAndErrorsAreThoseOfTheSimulation) {
  RunJob(ranks(), [&](Engine& engine) {
    Group group(engine, kOptions);
    Simulation simulation(ranks());
    float previous = 0.5f;
    for (int step = 0; step < 6; ++step) {
      const float rate = step < 3 ? 0.5f : 0.25f;
      const Floats expected = simulation.Step(
          step, {.step = step, .learning_rate = rate, .previous_learning_rate = previous});
      ASSERT_TRUE(group.Step(rate) == expected) << "step " << step;
      ASSERT_TRUE(group.Accumulated().front().values == simulation.Error(engine.rank()));
      previous = rate;
    }
    EXPECT_EQ(group.report().dense_bytes, kSize * sizeof(float));
    EXPECT_EQ(group.report().wire_bytes, (kFactorFloats + kSize - kMatrixSize) * sizeof(float));
  });
}

TEST_P(PowerSgdEngine, BeforeItsFirstStepGradientsTravelDense) {
  RunJob(ranks(), [&](Engine& engine) {
    Options options = kOptions;
    options["rampup_begin_step"] = "2";
    Group group(engine, options);
    Simulation simulation(ranks());
    for (int step = 0; step < 5; ++step) {
      const Floats& update = group.Step();
      if (step < 2) {
        EXPECT_EQ(group.report().wire_bytes, group.report().dense_bytes);
        EXPECT_EQ(group.Accumulated().front().values, Floats(kMatrixSize, 0.0f));
        Floats mean(kSize);
        for (int rank = 0; rank < ranks(); ++rank) {
          const Floats gradient = GradientOf(rank, step);
          for (std::size_t i = 0; i < kSize; ++i) mean[i] += gradient[i];
        }
        for (float& value : mean) value /= static_cast<float>(ranks());
        ASSERT_TRUE(update == mean) << "step " << step;
      } else {
        ASSERT_TRUE(update == simulation.Step(step, {.step = step})) << "step " << step;
      }
    }
  });
}

TEST_P(PowerSgdEngine, ASumIsAsManyAveragesAsThereAreRanks) {
  RunJob(ranks(), [&](Engine& engine) {
    Group averages(engine, kOptions);
    Floats expected;
    for (int step = 0; step < 3; ++step) expected = averages.Step();
    for (float& value : expected) value *= static_cast<float>(ranks());
    Group sums(engine, kOptions, ReduceOp::kSum);
    for (int step = 0; step < 2; ++step) sums.Step();
    const Floats& update = sums.Step();
    for (std::size_t i = 0; i < kSize; ++i) ASSERT_NEAR(update[i], expected[i], 1e-3) << i;
  });
}

TEST_P(PowerSgdEngineOfSome, WhoHasJoinedKeepsItsStateAndTheOthersGoOn) {
  constexpr int kTogether = 3;
  constexpr int kAlone = 4;
  RunJob(ranks(), [&](Engine& engine) {
    const int last = ranks() - 1;
    Group group(engine, kOptions);
    Simulation simulation(ranks());
    for (int step = 0; step < kTogether; ++step) {
      simulation.Step(step, {.step = step});
      group.Step();
    }
    const std::vector<SavedArray> before = group.Accumulated();
    for (int step = kTogether; step < kTogether + kAlone; ++step) {
      const Floats expected = simulation.Step(step, {.step = step}, last);
      if (engine.rank() == last) {
        ASSERT_TRUE(group.Step() == expected) << step;
      }
    }
    EXPECT_EQ(engine.Join(), last);
    if (engine.rank() != last) {
      EXPECT_EQ(group.Accumulated(), before);
    }
    for (int step = kTogether + kAlone; step < kTogether + kAlone + 2; ++step) {
      const Floats expected = simulation.Step(step, {.step = step});
      ASSERT_TRUE(group.Step() == expected) << step;
      ASSERT_TRUE(group.Accumulated().front().values == simulation.Error(engine.rank())) << step;
    }
  });
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(PowerSgdEngineOfSome);
INSTANTIATE_TEST_SUITE_P(Ranks, PowerSgdEngine, testing::ValuesIn(JobSizes()),
                         testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(Ranks, PowerSgdEngineOfSome, testing::ValuesIn(JobSizesFrom(2)),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace weir::powersgd_test
