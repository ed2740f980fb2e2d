// Buckets whose form changes from step to step, as rank 0 plans.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "compression/momentum.h"
#include "coordinator/engine/engine_impl.h"
#include "coordinator/routes/routes.h"
#include "tests/coordinator/groups/group_steps.h"
#include "tests/coordinator/groups/written_plans.h"
#include "tests/coordinator/jobs/job.h"
#include "tests/coordinator/jobs/training.h"

namespace weir::planned_steps_test {
namespace {

/// Random forms for each bucket, new ones in about every second step.
std::string RandomPlans(std::size_t buckets, int steps, int ranks, unsigned seed) {
  const std::string letters = ranks > 2 ? "pscihd" : "cihd";  // Two have nothing to divide.
  std::mt19937 random(seed);
  std::string json = R"({"model": [)";
  for (int step = 1; step < steps; ++step) {
    if (step > 1 && random() % 2 == 0) continue;
    json += std::string(step > 1 ? "," : "") + R"({"from_step":)" + std::to_string(step) +
            R"(,"forms":")";
    for (std::size_t b = 0; b < buckets; ++b) json += letters[random() % letters.size()];
    json += "\"}";
  }
  return json + "]}";
}

constexpr std::size_t kBuckets = 3;  // Of Training, with the fusion threshold of WrittenPlans.

Options Alternating(Options options) {
  options["alternatives"] = "dense,fp16,int8,push_pull";
  return options;
}

std::set<std::uint8_t> RoutesTaken(Engine& engine, std::uint64_t before) {
  std::vector<StageRecord> records(65536);
  records.resize(dynamic_cast<EngineImpl&>(engine).recorder().Read(before, records).count);
  std::set<std::uint8_t> routes;
  for (const StageRecord& record : records) {
    if (record.stage == Stage::kExchange && record.step >= 0) routes.insert(record.route);
  }
  return routes;
}

std::uint64_t HashOfRankZero(Engine& engine, const Training& training) {
  std::uint64_t hash = training.Hash();
  engine.Wait(engine.Broadcast("hash", {&hash, DType::kInt64, Shape{1}}, 0));
  return hash;
}

TEST(PlannedSteps, KeepReplicasEqual) {
  constexpr int kSteps = 60;
  for (const int ranks : JobSizesFrom(2)) {
    for (const char* momentum : {"vanilla", "nesterov"}) {
      const unsigned seed = 7 + static_cast<unsigned>(ranks);
      SCOPED_TRACE("seed " + std::to_string(seed));
      const WrittenPlans plans(RandomPlans(kBuckets, kSteps, ranks, seed));
      RunJob(
          ranks,
          [&](Engine& engine) {
            Training training(engine, Alternating(DgcOptions(momentum, 5)));
            training.Steps(10);
            const std::uint64_t before = dynamic_cast<EngineImpl&>(engine).recorder().added();
            std::mt19937 random(static_cast<unsigned>(engine.rank()));
            for (int step = 10; step < kSteps; ++step) {
              std::vector<std::size_t> order(Training::tensors());
              for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
              std::ranges::shuffle(order, random);
              training.Step(order);
            }
            EXPECT_EQ(training.Hash(), HashOfRankZero(engine, training));
            const std::set<std::uint8_t> routes = RoutesTaken(engine, before);
            for (const RouteKind kind : {RouteKind::kDrain, RouteKind::kDrainFp16, RouteKind::kInt8,
                                         RouteKind::kSplit, RouteKind::kPushPull}) {
              const bool by_route = kind == RouteKind::kSplit || kind == RouteKind::kPushPull;
              EXPECT_EQ(routes.contains(static_cast<std::uint8_t>(kind)), !by_route || ranks > 2);
            }
            EXPECT_GE(routes.size(), ranks > 2 ? 6u : 4u) << "nothing was compressed";
          },
          plans.settings());
    }
  }
}

/// Whatever the forms before it, a dense step leaves nothing unsent: all updates up to it add up to
/// those of momentum SGD on the mean gradient.
TEST(PlannedSteps, LoseNothing) {
  constexpr int kSteps = 24;
  // Two ranks serve nothing.
  const std::string dense_at_times = R"({"model": [
    {"from_step": 3, "forms": "dd"}, {"from_step": 5, "forms": "cc"}, {"from_step": 9, "forms": "hh"},
    {"from_step": 11, "forms": "dd"}, {"from_step": 12, "forms": "cc"},
    {"from_step": 23, "forms": "dd"}]})";
  const std::string served_meanwhile = R"({"model": [
    {"from_step": 3, "forms": "dd"}, {"from_step": 5, "forms": "pp"}, {"from_step": 9, "forms": "hh"},
    {"from_step": 11, "forms": "dd"}, {"from_step": 12, "forms": "pp"}, {"from_step": 16, "forms": "cc"},
    {"from_step": 18, "forms": "pp"}, {"from_step": 23, "forms": "dd"}]})";
  for (const int ranks : JobSizesFrom(2)) {
    const WrittenPlans plans(ranks > 2 ? served_meanwhile : dense_at_times);
    RunJob(
        ranks,
        [&](Engine& engine) {
          const auto group = engine.Register(SpecOf({{"compressor", "dgc"},
                                                     {"density", "0.02"},
                                                     {"momentum_masking", "false"},
                                                     {"min_elements", "100"},
                                                     {"values", "fp32"},
                                                     {"alternatives", "dense,fp16,push_pull"}}));
          const std::size_t n = static_cast<std::size_t>(Shapes()[0].elements());
          std::vector<float> u(n);
          std::vector<double> given(n), got(n);
          for (int step = 0; step < kSteps; ++step) {
            const Tensors updates = Step(*group, GradientOf(engine.rank(), step));
            std::vector<float> mean(n);
            for (int rank = 0; rank < ranks; ++rank) {
              const Tensors gradient = GradientOf(rank, step);
              for (std::size_t i = 0; i < n; ++i) {
                mean[i] += gradient[0][i] / static_cast<float>(ranks);
              }
            }
            double most = 0.0;
            for (std::size_t i = 0; i < n; ++i) {
              given[i] += AdvanceMomentum(Momentum::kVanilla, 0.9f, mean[i], u[i]);
              got[i] += updates[0][i];
              most = std::max(most, std::abs(given[i] - got[i]));
            }
            const bool dense = step == 3 || step == 4 || step == 11 || step == 23;
            const bool holds_back = step == 8 || step == 20;
            if (dense) {
              // Sums of fp16 are rounded, for all ranks alike: values of up to 100 by 2^-11.
              EXPECT_LT(most, step < 9 ? 2e-3 : 0.1) << "step " << step;
            } else if (holds_back) {
              EXPECT_GT(most, 1.0) << "step " << step;
            }
          }
        },
        plans.settings());
  }
}

TEST(PlannedSteps, GoOnWhenRanksHaveJoined) {
  constexpr int kSteps = 20;
  for (const int ranks : JobSizesFrom(3)) {
    const WrittenPlans plans(RandomPlans(kBuckets, kSteps, ranks, 11));
    RunJob(
        ranks,
        [&](Engine& engine) {
          Training training(engine, Alternating(DgcOptions("vanilla", 0)));
          training.Steps(engine.rank() == 1 ? 4 : kSteps);
          engine.Join();
          // Rank 1 stands still while the others go on; these agree.
          EXPECT_EQ(HashOfRankZero(engine, training) == training.Hash(), engine.rank() != 1);
        },
        plans.settings());
  }
}

/// Dropped tries leave no trace, whatever the form of the step.
TEST(PlannedSteps, AreUndoneWhenDropped) {
  constexpr int kSteps = 12;
  const Options options = Alternating({{"compressor", "dgc"},
                                       {"density", "0.05"},
                                       {"min_elements", "100"},
                                       {"momentum", "nesterov"}});
  for (const int ranks : JobSizesFrom(2)) {
    const WrittenPlans plans(RandomPlans(2, kSteps, ranks, 13));
    RunJob(
        ranks,
        [&](Engine& engine) {
          std::vector<Tensors> got[2];
          for (const bool drops : {false, true}) {
            const auto group = engine.Register(SpecOf(options));
            for (int step = 0; step < kSteps; ++step) {
              Tensors gradient = GradientOf(engine.rank(), step);
              if (drops) {
                const float rate = 0.1f;
                Tensors update = gradient;
                group->BeginStep({.learning_rates = std::span(&rate, 1), .undoable = true});
                for (std::size_t i = 0; i < gradient.size(); ++i) {
                  group->Submit(i, {gradient[i].data(), DType::kFloat32, Shapes()[i]},
                                {update[i].data(), DType::kFloat32, Shapes()[i]});
                }
                group->DropStep();
              }
              got[drops ? 1 : 0].push_back(Step(*group, gradient));
            }
          }
          EXPECT_EQ(got[0], got[1]);
        },
        plans.settings());
  }
}

TEST(PlannedSteps, OfFp16TurnDense) {
  const WrittenPlans plans(R"({"model": [{"from_step": 2, "forms": "dd"}]})");
  for (const int ranks : JobSizesFrom(2)) {
    RunJob(
        ranks,
        [&](Engine& engine) {
          const auto group =
              engine.Register(SpecOf({{"compressor", "fp16"}, {"alternatives", "dense"}}));
          const std::uint64_t before = dynamic_cast<EngineImpl&>(engine).recorder().added();
          for (int step = 0; step < 4; ++step) Step(*group, GradientOf(engine.rank(), step));
          EXPECT_EQ(RoutesTaken(engine, before),
                    (std::set{static_cast<std::uint8_t>(RouteKind::kDense),
                              static_cast<std::uint8_t>(RouteKind::kArray)}));
        },
        plans.settings());
  }
}

/// What compressors without a memory send is the mean but for rounding, in every form.
TEST(PlannedSteps, OfDenseGradientsAreRoundedAsPlanned) {
  const WrittenPlans plans(
      R"({"model": [{"from_step": 2, "forms": "ii"}, {"from_step": 3, "forms": "hh"},
                                  {"from_step": 4, "forms": "hi"}]})");
  for (const int ranks : JobSizes()) {
    RunJob(
        ranks,
        [&](Engine& engine) {
          const auto group =
              engine.Register(SpecOf({{"compressor", "dense"}, {"alternatives", "fp16,int8"}}));
          for (int step = 0; step < 5; ++step) {
            const Tensors updates = Step(*group, GradientOf(engine.rank(), step));
            EXPECT_TRUE(SameAsRankZero(engine, updates));
            double error = 0.0, largest = 0.0;
            for (std::size_t i = 0; i < updates.size(); ++i) {
              for (std::size_t j = 0; j < updates[i].size(); ++j) {
                double mean = 0.0;
                for (int rank = 0; rank < ranks; ++rank) {
                  const double x = GradientOf(rank, step)[i][j];
                  mean += x / ranks;
                  largest = std::max(largest, std::abs(x));
                }
                error = std::max(error, std::abs(mean - updates[i][j]));
              }
            }
            // Two roundings of half a level at most.
            const double levels[] = {1e-6, 1e-6, 1.0 / 127, 1.0 / 1024, 1.0 / 127};
            EXPECT_LE(error, largest * levels[step]) << "step " << step;
            EXPECT_GE(error, step < 2 ? 0.0 : largest * levels[step] / 50) << "step " << step;
          }
        },
        plans.settings());
  }
}

/// A large tensor, which is not copied: who has joined contributes zeros, and its memory is left
/// alone.
TEST(PlannedSteps, TakeNothingOfWhoHasJoined) {
  const Shape shape{300, 300};
  const auto n = static_cast<std::size_t>(shape.elements());
  const WrittenPlans plans(R"({"model": [{"from_step": 2, "forms": "d"}]})");
  for (const int ranks : JobSizesFrom(2)) {
    RunJob(
        ranks,
        [&](Engine& engine) {
          const auto group = engine.Register({.name = "model",
                                              .tensors = {{.name = "w", .shape = shape}},
                                              .compression = {{"compressor", "dgc"},
                                                              {"momentum", "none"},
                                                              {"values", "fp32"},
                                                              {"alternatives", "dense"}}});
          std::vector<float> gradient(n), update(n);
          const bool leaves = engine.rank() == 1;
          for (int step = 0; step < (leaves ? 3 : 5); ++step) {
            // From the third step on nothing is held back.
            std::ranges::fill(gradient, step < 2 ? 0.0f : 1.0f);
            const float rate = 0.1f;
            group->BeginStep({.learning_rates = std::span(&rate, 1)});
            group->Submit(0, {gradient.data(), DType::kFloat32, shape},
                          {update.data(), DType::kFloat32, shape});
            group->EndStep();
            group->WaitStep();
          }
          if (leaves) std::ranges::fill(update, 77.0f);
          engine.Join();
          const float expected =
              leaves ? 77.0f : static_cast<float>(ranks - 1) / static_cast<float>(ranks);
          for (const float x : update) ASSERT_FLOAT_EQ(x, expected);
        },
        plans.settings());
  }
}

/// A rank that serves joins, the plan changes meanwhile, and it comes back: the others' updates are
/// the whole mean, with zeros in its place while it was away.
TEST(PlannedSteps, LoseNothingOfWhoServedAndHasJoined) {
  const WrittenPlans plans(R"({"model": [{"from_step": 2, "forms": "pp"},
                                         {"from_step": 5, "forms": "cc"},
                                         {"from_step": 9, "forms": "dd"}]})");
  constexpr int kLeaves = 4, kComesBack = 7, kSteps = 10;
  for (const int ranks : JobSizesFrom(3)) {
    for (int away = 1; away < 3;
         ++away) {  // Each serves a tensor, and so does the rank that plans.
      SCOPED_TRACE("rank " + std::to_string(away) + " joins");
      RunJob(
          ranks,
          [&](Engine& engine) {
            const auto group = engine.Register(SpecOf({{"compressor", "dgc"},
                                                       {"density", "0.02"},
                                                       {"momentum", "none"},
                                                       {"min_elements", "100"},
                                                       {"values", "fp32"},
                                                       {"alternatives", "dense,push_pull"}}));
            const bool leaves = engine.rank() == away;
            std::vector<std::vector<double>> got(Shapes().size()), given(Shapes().size());
            for (std::size_t t = 0; t < Shapes().size(); ++t) {
              got[t].resize(static_cast<std::size_t>(Shapes()[t].elements()));
              given[t].resize(got[t].size());
            }
            for (int step = 0; step < kSteps; ++step) {
              const bool is_away = step >= kLeaves && step < kComesBack;
              for (int rank = 0; rank < ranks; ++rank) {
                if (rank == away && is_away) continue;
                const Tensors gradient = GradientOf(rank, step);
                for (std::size_t t = 0; t < given.size(); ++t) {
                  for (std::size_t i = 0; i < given[t].size(); ++i) {
                    given[t][i] += gradient[t][i] / ranks;
                  }
                }
              }
              if (step == (leaves ? kLeaves : kComesBack)) engine.Join();
              if (leaves && is_away) continue;
              const Tensors updates = Step(*group, GradientOf(engine.rank(), step));
              for (std::size_t t = 0; t < got.size(); ++t) {
                for (std::size_t i = 0; i < got[t].size(); ++i) got[t][i] += updates[t][i];
              }
            }
            double most = 0.0;
            for (std::size_t t = 0; t < got.size(); ++t) {
              for (std::size_t i = 0; i < got[t].size(); ++i) {
                most = std::max(most, std::abs(got[t][i] - given[t][i]));
              }
            }
            if (!leaves) {
              EXPECT_LT(most, 2e-3);
            }
          },
          plans.settings());
    }
  }
}

}  // namespace
}  // namespace weir::planned_steps_test
