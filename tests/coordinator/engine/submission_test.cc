// The result does not depend on who submits what, when and from which thread.
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <thread>
#include <vector>

#include "tests/coordinator/jobs/job.h"
#include "tests/coordinator/jobs/training.h"

namespace weir {
namespace {

constexpr int kSteps = 40;

class Submissions : public testing::TestWithParam<int> {
 protected:
  int ranks() const { return GetParam(); }

  /// Hashes of the weights after each step that `step` does.
  template <typename Step>
  std::map<int, std::vector<std::uint64_t>> Train(Step step) const {
    return Results(RunJob, ranks(), [&](Engine& engine) {
      Training training(engine, DgcOptions("vanilla", 20));
      std::vector<std::uint64_t> hashes;
      for (int i = 0; i < kSteps; ++i) {
        step(training, engine.rank());
        hashes.push_back(training.Hash());
      }
      return hashes;
    });
  }

  auto InOrder() const {
    return Train([](Training& training, int) { training.Step(); });
  }
};

TEST_P(Submissions, InAnotherRandomOrderOnEachRankAndStep) {
  const unsigned seed = std::random_device()();
  std::cout << "seed " << seed << "\n";
  const auto shuffled = Train([&](Training& training, int rank) {
    std::vector<std::size_t> order(Training::tensors());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::mt19937 random(seed + 1000 * static_cast<unsigned>(training.group().next_step()) +
                        static_cast<unsigned>(rank));
    std::ranges::shuffle(order, random);
    training.Step(order);
  });
  EXPECT_EQ(shuffled, InOrder());
}

TEST_P(Submissions, FromAThreadForEachTensor) {
  const auto threaded = Train([](Training& training, int) {
    training.Begin();
    {
      std::vector<std::jthread> threads;
      for (std::size_t tensor = 0; tensor < Training::tensors(); ++tensor) {
        threads.emplace_back([&training, tensor] {
          training.ComputeGradient(tensor);
          training.Submit(tensor);
        });
      }
    }
    training.End();
  });
  EXPECT_EQ(threaded, InOrder());
}

TEST_P(Submissions, SingleOperationsInAnotherRandomOrderOnEachRank) {
  constexpr std::size_t kTensors = 60;
  const unsigned seed = std::random_device()();
  std::cout << "seed " << seed << "\n";
  RunJob(ranks(), [&](Engine& engine) {
    std::mt19937 random(seed + static_cast<unsigned>(engine.rank()));
    std::vector<std::size_t> order(kTensors);
    std::iota(order.begin(), order.end(), std::size_t{0});
    for (int round = 0; round < 5; ++round) {
      std::ranges::shuffle(order, random);
      std::vector<std::vector<float>> values(kTensors);
      std::vector<Handle> handles;
      for (const std::size_t i : order) {
        // Some whole, some in chunks.
        values[i].assign(1 + 97 * i, static_cast<float>(i));
        const TensorView view = ViewOf(std::span<float>(values[i]));
        const std::string name = "tensor " + std::to_string(i);
        handles.push_back(i % 3 == 0 ? engine.Broadcast(name, view, static_cast<int>(i) % ranks())
                                     : engine.Allreduce(name, view, view));
      }
      for (const Handle handle : handles) engine.Wait(handle);
      for (std::size_t i = 0; i < kTensors; ++i) {
        EXPECT_EQ(values[i], std::vector<float>(1 + 97 * i, static_cast<float>(i))) << i;
      }
    }
  });
}

TEST_P(Submissions, AGradientThatItsOwnerLetsGoRightAfterSubmitting) {
  constexpr std::size_t kElements = 5000;
  RunJob(ranks(), [&](Engine& engine) {
    const auto group =
        engine.Register({.name = "g", .tensors = {{.name = "w", .shape = Shape{50, 100}}}});
    for (int step = 0; step < 10; ++step) {
      std::vector<float> update(kElements);
      // Spoils memory after it was released, so that reading it shows.
      const auto spoil = [](std::vector<float>* values) {
        values->assign(values->size(), std::numeric_limits<float>::quiet_NaN());
        delete values;
      };
      std::shared_ptr<std::vector<float>> gradient(
          new std::vector<float>(kElements, static_cast<float>(step + engine.rank())), spoil);
      const std::weak_ptr<std::vector<float>> watch = gradient;
      group->BeginStep({});
      const ConstTensorView view(gradient->data(), DType::kFloat32, Shape{50, 100});
      group->Submit(0, view, {update.data(), DType::kFloat32, Shape{50, 100}}, std::move(gradient));
      group->EndStep();
      group->WaitStep();
      EXPECT_TRUE(watch.expired()) << "step " << step;
      const float mean = static_cast<float>(step) + static_cast<float>(ranks() - 1) / 2.0f;
      EXPECT_EQ(update, std::vector<float>(kElements, mean)) << "step " << step;
    }
  });
}

class SomeRanks : public Submissions {};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(SomeRanks);

/// So many that every parameter is used by some rank.
std::vector<int> SizesAboveOne() {
  std::vector<int> sizes = JobSizes();
  std::erase(sizes, 1);
  return sizes;
}

TEST_P(SomeRanks, ParametersThatTheyDoNotUseCountAsZero) {
  const auto unused = [](int step, int rank, std::size_t tensor) {
    return (static_cast<std::size_t>(step + rank) + tensor) % 3 == 0;
  };
  const auto train = [&](bool submit_zeros) {
    return Train([&, submit_zeros](Training& training, int rank) {
      const int step = static_cast<int>(training.group().next_step());
      training.Begin();
      for (std::size_t tensor = 0; tensor < Training::tensors(); ++tensor) {
        if (!unused(step, rank, tensor)) {
          training.ComputeGradient(tensor);
          training.Submit(tensor);
        } else if (submit_zeros) {
          training.ZeroGradient(tensor);
          training.Submit(tensor);
        }
      }
      training.End();
    });
  };
  EXPECT_EQ(train(false), train(true));
}

INSTANTIATE_TEST_SUITE_P(Ranks, SomeRanks, testing::ValuesIn(SizesAboveOne()),
                         testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(Ranks, Submissions, testing::ValuesIn(JobSizes()),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace weir
