#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <functional>
#include <mutex>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "coordinator/engine/engine_impl.h"
#include "weir/engine.h"

namespace weir {
namespace {

using Options = std::map<std::string, std::string>;

/// A small model's gradients: matrices that are compressed and vectors that are not.
struct Model {
  std::vector<Shape> shapes = {Shape{64, 48}, Shape{64}, Shape{80, 64}, Shape{80}, Shape{30, 80}};

  GradientGroupSpec Spec(const Options& compression) const {
    GradientGroupSpec spec{.name = "model", .compression = compression};
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      spec.tensors.push_back({.name = "p" + std::to_string(i), .shape = shapes[i]});
    }
    return spec;
  }
};

/// Runs `steps` steps with gradients that depend on seed, rank, step and tensor only, and returns
/// every update that rank `watched` received. `disturb` is called in the middle of each.
std::vector<float> Train(int ranks, int watched, const Options& compression, int steps,
                         const Settings& settings = {}, int first_tensor = 0,
                         const std::function<void(Engine&, int)>& disturb = {},
                         const Model& model = {}) {
  std::vector<float> seen;
  RunLocal(
      ranks,
      [&](Engine& engine) {
        const auto group = engine.Register(model.Spec(compression));
        std::vector<std::vector<float>> gradients;
        for (const Shape& shape : model.shapes) {
          gradients.emplace_back(static_cast<std::size_t>(shape.elements()));
        }
        std::vector<std::vector<float>> updates = gradients;
        for (int step = 0; step < steps; ++step) {
          const float rate = 0.1f;
          group->BeginStep({.learning_rates = std::span<const float>(&rate, 1)});
          const std::size_t count = model.shapes.size();
          for (std::size_t k = 0; k < count; ++k) {
            // Every rank starts with another tensor.
            const std::size_t i =
                (k + static_cast<std::size_t>(engine.rank() + first_tensor)) % count;
            std::mt19937 random(static_cast<unsigned>(1000 * step + 10 * engine.rank()) +
                                static_cast<unsigned>(i));
            std::normal_distribution<float> normal;
            for (float& g : gradients[i]) g = normal(random);
            group->Submit(i, {gradients[i].data(), DType::kFloat32, model.shapes[i]},
                          {updates[i].data(), DType::kFloat32, model.shapes[i]});
            if (disturb && k == count / 2) disturb(engine, step);
          }
          group->EndStep();
          group->WaitStep();
          if (engine.rank() == watched) {
            for (const auto& update : updates)
              seen.insert(seen.end(), update.begin(), update.end());
          }
        }
      },
      settings);
  return seen;
}

const Options kDgc = {{"compressor", "dgc"},  {"density", "0.01"},    {"momentum", "vanilla"},
                      {"momentum_mu", "0.9"}, {"warmup_steps", "10"}, {"min_elements", "100"}};

class Groups : public testing::TestWithParam<int> {};

TEST_P(Groups, PlainGroupsAverage) {
  const int ranks = GetParam();
  const Model model;
  RunLocal(ranks, [&](Engine& engine) {
    const auto group = engine.Register(model.Spec({}));
    for (int step = 0; step < 3; ++step) {
      group->BeginStep({});
      std::vector<std::vector<float>> gradients;
      for (std::size_t i = 0; i < model.shapes.size(); ++i) {
        gradients.emplace_back(static_cast<std::size_t>(model.shapes[i].elements()),
                               static_cast<float>(engine.rank() + step));
        const TensorView view{gradients[i].data(), DType::kFloat32, model.shapes[i]};
        group->Submit(i, view, view);
      }
      group->EndStep();
      EXPECT_EQ(group->WaitStep().step, step);
      const float expected = static_cast<float>(step) + static_cast<float>(ranks - 1) / 2.0f;
      for (const auto& gradient : gradients) {
        EXPECT_TRUE(std::ranges::all_of(gradient, [&](float g) { return g == expected; }));
      }
    }
  });
}

TEST_P(Groups, AllRanksReceiveTheSameBits) {
  const int ranks = GetParam();
  const std::vector<float> first = Train(ranks, 0, kDgc, 20);
  EXPECT_EQ(first, Train(ranks, ranks - 1, kDgc, 20));
}

TEST_P(Groups, SerialAndThreadedPipelinesGiveTheSameBits) {
  Settings serial;
  serial.pipeline = PipelineMode::kSerial;
  EXPECT_EQ(Train(GetParam(), 0, kDgc, 20), Train(GetParam(), 0, kDgc, 20, serial));
}

/// Tensors that a compression process compresses.
const Model kLarge = {.shapes = {Shape{64, 48}, Shape{64}, Shape{240, 200}, Shape{200, 180}}};

TEST_P(Groups, ACompressionProcessGivesTheSameBits) {
  Settings apart;
  apart.pipeline = PipelineMode::kProcess;
  EXPECT_EQ(Train(GetParam(), 0, kDgc, 20, apart, 0, {}, kLarge),
            Train(GetParam(), 0, kDgc, 20, {}, 0, {}, kLarge));
}

TEST_P(Groups, ACompressionProcessThatDiesChangesNoBit) {
  Settings apart;
  apart.pipeline = PipelineMode::kProcess;
  const auto kill_one = [](Engine& engine, int step) {
    CompressionProcess* const process = dynamic_cast<EngineImpl&>(engine).compression_process();
    ASSERT_NE(process, nullptr);
    if (step == 10 + engine.rank()) kill(process->pid(), SIGKILL);
    if (step == 15) {
      EXPECT_FALSE(process->alive()) << "nobody has asked it for anything";
    }
  };
  EXPECT_EQ(Train(GetParam(), 0, kDgc, 20, apart, 0, kill_one, kLarge),
            Train(GetParam(), 0, kDgc, 20, {}, 0, {}, kLarge));
}

TEST_P(Groups, TheOrderOfSubmissionDoesNotChangeTheResult) {
  EXPECT_EQ(Train(GetParam(), 0, kDgc, 12), Train(GetParam(), 0, kDgc, 12, {}, 3));
}

TEST_P(Groups, CarryingTheMaskedVectorDenselyChangesNoBit) {
  Options sparse = kDgc;
  sparse["policy"] = "always";
  Options dense = kDgc;
  dense["policy"] = "never";
  EXPECT_EQ(Train(GetParam(), 0, sparse, 20), Train(GetParam(), 0, dense, 20));
}

TEST_P(Groups, SavedStateGoesOnBitForBit) {
  const int ranks = GetParam();
  const Model model;
  const auto run = [&](bool interrupt) {
    std::vector<float> last;
    std::vector<std::string> saved(static_cast<std::size_t>(ranks));
    const auto steps = [&](Engine& engine, GradientGroup& group, int from, int to) {
      for (int step = from; step < to; ++step) {
        group.BeginStep({});
        std::vector<std::vector<float>> gradients;
        for (std::size_t i = 0; i < model.shapes.size(); ++i) {
          gradients.emplace_back(static_cast<std::size_t>(model.shapes[i].elements()));
          std::mt19937 random(static_cast<unsigned>(step * 100 + engine.rank()));
          std::normal_distribution<float> normal;
          for (float& g : gradients[i]) g = normal(random);
          const TensorView view{gradients[i].data(), DType::kFloat32, model.shapes[i]};
          group.Submit(i, view, view);
        }
        group.EndStep();
        group.WaitStep();
        if (engine.rank() == 0) last = gradients[2];
      }
    };
    const auto first = [&](Engine& engine) {
      const auto group = engine.Register(model.Spec(kDgc));
      steps(engine, *group, 0, 8);
      if (interrupt) {
        std::ostringstream out;
        group->Save(out);
        saved[static_cast<std::size_t>(engine.rank())] = out.str();
      } else {
        steps(engine, *group, 8, 16);
      }
    };
    RunLocal(ranks, first);
    if (!interrupt) return last;
    RunLocal(ranks, [&](Engine& engine) {
      const auto group = engine.Register(model.Spec(kDgc));
      std::istringstream in(saved[static_cast<std::size_t>(engine.rank())]);
      std::istream* file = &in;
      group->Load(std::span<std::istream* const>(&file, 1));
      EXPECT_EQ(group->next_step(), 8);
      steps(engine, *group, 8, 16);
    });
    return last;
  };
  EXPECT_EQ(run(true), run(false));
}

TEST_P(Groups, AParameterThatOneRankDoesNotUseCountsAsZero) {
  const int ranks = GetParam();
  RunLocal(ranks, [&](Engine& engine) {
    const auto group = engine.Register(
        {.name = "g",
         .tensors = {{.name = "a", .shape = Shape{5}}, {.name = "b", .shape = Shape{5}}}});
    std::vector<float> a(5, 1.0f);
    std::vector<float> b(5, 7.0f);
    group->SetDefaultUpdate(1, b.data());
    group->BeginStep({});
    const TensorView view = ViewOf(std::span<float>(a));
    group->Submit(0, view, view);
    if (engine.rank() == 0) {
      const TensorView b_view = ViewOf(std::span<float>(b));
      group->Submit(1, b_view, b_view);
    }
    group->EndStep();
    group->WaitStep();
    EXPECT_EQ(a[0], 1.0f);
    EXPECT_EQ(b[4], 7.0f / static_cast<float>(ranks));
  });
}

TEST_P(Groups, ANonFiniteStepIsSkippedOnAllRanksTogether) {
  const int ranks = GetParam();
  Options options = kDgc;
  options["skip_nonfinite"] = "true";
  RunLocal(ranks, [&](Engine& engine) {
    const auto group = engine.Register(
        {.name = "g", .tensors = {{.name = "a", .shape = Shape{20, 20}}}, .compression = options});
    for (int step = 0; step < 4; ++step) {
      std::vector<float> a(400, 1.0f);
      std::vector<float> update(400, 42.0f);
      const bool broken = step == 2;
      if (broken && engine.rank() == engine.size() - 1)
        a[7] = std::numeric_limits<float>::infinity();
      group->BeginStep({});
      group->Submit(0, {a.data(), DType::kFloat32, Shape{20, 20}},
                    {update.data(), DType::kFloat32, Shape{20, 20}});
      group->EndStep();
      EXPECT_EQ(group->WaitStep().skipped, broken) << "rank " << engine.rank() << " step " << step;
      if (broken) {
        EXPECT_EQ(update[0], 42.0f);
      }
    }
  });
}

TEST_P(Groups, RegistrationsThatDifferAreAMismatchOnEveryRank) {
  const int ranks = GetParam();
  if (ranks == 1) return;  // One rank cannot disagree.
  RunLocal(ranks, [&](Engine& engine) {
    const char* density = engine.rank() == 1 ? "0.02" : "0.01";
    GradientGroupSpec spec{.name = "g",
                           .tensors = {{.name = "a", .shape = Shape{20, 20}}},
                           .compression = {{"compressor", "dgc"}, {"density", density}}};
    try {
      engine.Register(spec);
      ADD_FAILURE() << "no Mismatch on rank " << engine.rank();
    } catch (const Mismatch& error) {
      EXPECT_NE(std::string(error.what()).find("density=0.01"), std::string::npos) << error.what();
      EXPECT_NE(std::string(error.what()).find("rank 1 has density=0.02"), std::string::npos);
    }
    engine.Wait(engine.Barrier());
  });
}

TEST_P(Groups, MisuseIsRefusedAndChangesNothing) {
  RunLocal(GetParam(), [&](Engine& engine) {
    const auto group =
        engine.Register({.name = "g", .tensors = {{.name = "a", .shape = Shape{4}}}});
    std::vector<float> a(4, 3.0f);
    const TensorView view = ViewOf(std::span<float>(a));
    EXPECT_THROW(group->Submit(0, view, view), InvalidArgument);  // Outside a step.
    group->BeginStep({});
    EXPECT_THROW(group->BeginStep({}), InvalidArgument);
    EXPECT_THROW(group->Submit(1, view, view), InvalidArgument);
    EXPECT_THROW(group->Submit(0, {a.data(), DType::kFloat32, Shape{3}}, view), InvalidArgument);
    EXPECT_THROW(group->Submit(0, {a.data(), DType::kFloat64, Shape{4}}, view), InvalidArgument);
    EXPECT_THROW(group->WaitStep(), InvalidArgument);
    group->Submit(0, view, view);
    EXPECT_THROW(group->Submit(0, view, view), InvalidArgument);
    group->EndStep();
    group->WaitStep();
    EXPECT_EQ(a[0], 3.0f);
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, Groups, testing::Values(1, 2, 3, 4),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace weir
