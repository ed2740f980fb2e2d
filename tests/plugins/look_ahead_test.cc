#include "plugins/cpp/look_ahead.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <sstream>
#include <vector>

#include "tests/plugins/model.h"
#include "weir/engine.h"
#include "weir/optimizer.h"

namespace weir::look_ahead_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr std::size_t kElements = 32;
constexpr int kRanks = 2;
using Options = std::map<std::string, std::string>;

/// One matrix that each rank draws to a place of its own, so that gradients depend on where they
/// are taken: g = value - target.
class Pulled {
 public:
  explicit Pulled(int rank) : value_(kElements), gradient_(kElements), target_(kElements) {
    std::mt19937 random(static_cast<unsigned>(rank) + 1);
    std::normal_distribution<float> normal;
    for (float& x : target_) x = normal(random);
  }

  std::vector<Parameter> Parameters() {
    return {{.name = "w", .value = value_, .gradient = gradient_, .shape = {8, 4}}};
  }
  void Backward() {
    for (std::size_t i = 0; i < kElements; ++i) gradient_[i] = value_[i] - target_[i];
  }
  const std::vector<float>& value() const { return value_; }
  const std::vector<float>& target() const { return target_; }

 private:
  std::vector<float> value_, gradient_, target_;
};

/// One entry of 32 a step, exactly as it is.
Options OneEntry(const Options& more = {}) {
  Options options = {{"compressor", "dgc"}, {"density", "0.03125"}, {"min_elements", "0"},
                     {"values", "fp32"},    {"policy", "always"},   {"look_ahead", "1"}};
  for (const auto& [key, value] : more) options[key] = value;
  return options;
}

/// Expected steps of the two ranks, without momentum: v += g(w - lr * c / N * v), the largest entry
/// of v is sent, w -= lr * its mean.
class Expected {
 public:
  void Step(const std::vector<Pulled>& ranks, float rate, float c) {
    std::vector<float> sum(kElements, 0.0f);
    for (std::size_t r = 0; r < kRanks; ++r) {
      std::vector<float>& v = v_[r];
      const float factor = rate * c / kRanks;
      for (std::size_t i = 0; i < kElements; ++i) {
        v[i] += (w_[i] - factor * v[i]) - ranks[r].target()[i];
      }
      const auto largest = std::ranges::max_element(v, {}, [](float x) { return std::abs(x); });
      sum[static_cast<std::size_t>(largest - v.begin())] += *largest;
      *largest = 0.0f;
    }
    for (std::size_t i = 0; i < kElements; ++i) w_[i] -= rate * (sum[i] / kRanks);
  }
  const std::vector<float>& w() const { return w_; }
  const std::vector<float>& v(int rank) const { return v_[static_cast<std::size_t>(rank)]; }

 private:
  std::vector<float> w_ = std::vector<float>(kElements);
  std::vector<std::vector<float>> v_ = {kRanks, std::vector<float>(kElements)};
};

TEST(LookAhead, GradientsAreTakenWhereWhatIsNotSentLeads) {
  RunLocal(kRanks, [](Engine& engine) {
    for (const float c : {0.5f, 1.0f}) {
      Pulled own(engine.rank());
      DistributedOptimizer optimizer(engine, own.Parameters(),
                                     {.compression = OneEntry({{"look_ahead", std::to_string(c)}}),
                                      .name = "c = " + std::to_string(c)});
      const std::vector<Pulled> all = {Pulled(0), Pulled(1)};
      Expected expected;
      for (int step = 0; step < 20; ++step) {
        const float rate = 0.05f / (1.0f + 0.1f * static_cast<float>(step));
        const float factor = rate * c / kRanks;
        optimizer.BeginStep(rate);
        for (std::size_t i = 0; i < kElements; ++i) {
          ASSERT_EQ(own.value()[i], expected.w()[i] - factor * expected.v(engine.rank())[i])
              << "step " << step << ", entry " << i;
        }
        own.Backward();
        optimizer.GradientReady(0);
        optimizer.Step();
        expected.Step(all, rate, c);
        ASSERT_EQ(own.value(), expected.w()) << "step " << step;
      }
      EXPECT_GT(std::abs(*std::ranges::max_element(expected.v(0))),
                0.1f);  // Else it shows nothing.
    }
  });
}

TEST(LookAhead, LocalWeightDecayIsThatOfTheParametersThemselves) {
  RunLocal(kRanks, [](Engine& engine) {
    std::vector<std::vector<float>> found;
    for (const char* ahead : {"0", "1"}) {
      Pulled own(engine.rank());
      DistributedOptimizer optimizer(
          engine, own.Parameters(),
          {.weight_decay = 0.5f,
           .compression = OneEntry({{"look_ahead", ahead}, {"weight_decay_form", "local"}}),
           .name = std::string("ahead ") + ahead});
      auto parameter = own.Parameters()[0];
      for (int step = 0; step < 5; ++step) {
        optimizer.BeginStep(0.1f);
        // The same gradients for both, so that only the decay could tell.
        std::ranges::copy(own.target(), parameter.gradient.begin());
        optimizer.GradientReady(0);
        optimizer.Step();
      }
      found.push_back(own.value());
    }
    EXPECT_EQ(found[0], found[1]);
  });
}

TEST(LookAhead, ASavedOptimizerGoesOnBitForBit) {
  RunLocal(kRanks, [](Engine& engine) {
    const auto step = [](DistributedOptimizer& optimizer, Pulled& model) {
      optimizer.BeginStep(0.05f);
      model.Backward();
      optimizer.GradientReady(0);
      optimizer.Step();
    };
    Pulled never_stopped(engine.rank());
    DistributedOptimizer one(engine, never_stopped.Parameters(),
                             {.momentum = 0.9f, .compression = OneEntry(), .name = "one"});
    for (int i = 0; i < 4; ++i) step(one, never_stopped);
    std::stringstream file;
    one.Save(file);
    for (int i = 0; i < 4; ++i) step(one, never_stopped);

    Pulled resumed(engine.rank());
    DistributedOptimizer two(engine, resumed.Parameters(),
                             {.momentum = 0.9f, .compression = OneEntry(), .name = "two"});
    std::istream* const files[] = {&file};
    two.Load(files);
    for (int i = 0; i < 4; ++i) step(two, resumed);
    EXPECT_EQ(resumed.value(), never_stopped.value());
  });
}

TEST(LookAhead, AnOptimizerThatIsGivenUpInAStepLeavesTheParametersThemselves) {
  RunLocal(1, [](Engine& engine) {
    Pulled own(engine.rank());
    std::vector<float> before;
    {
      DistributedOptimizer optimizer(engine, own.Parameters(), {.compression = OneEntry()});
      for (int i = 0; i < 3; ++i) {
        optimizer.BeginStep(0.05f);
        own.Backward();
        optimizer.GradientReady(0);
        optimizer.Step();
      }
      before = own.value();
      optimizer.BeginStep(0.05f);
      EXPECT_NE(own.value(), before);
      engine.Abort("no more data");
      EXPECT_THROW(optimizer.Step(), Error);
      EXPECT_EQ(own.value(), before);
    }
    EXPECT_EQ(own.value(), before);
  });
}

TEST(LookAhead, WhatItCannotBeIsRefusedByName) {
  RunLocal(1, [](Engine& engine) {
    const auto made = [&](const Options& more) {
      Pulled own(0);
      DistributedOptimizer(engine, own.Parameters(), {.compression = OneEntry(more)});
    };
    EXPECT_THAT(
        [&] {
          made({{"look_ahead", "1.5"}});
        },
        ThrowsMessage<InvalidArgument>(AllOf(HasSubstr("look_ahead"), HasSubstr("1.5"))));
    EXPECT_THAT(
        [&] {
          made({{"route", "hierarchical"}});
        },
        ThrowsMessage<InvalidArgument>(
            AllOf(HasSubstr("look_ahead"), HasSubstr("route=hierarchical"))));
    EXPECT_THAT(
        [&] {
          made({{"route[w*]", "hierarchical"}});
        },
        ThrowsMessage<InvalidArgument>(
            AllOf(HasSubstr("route=hierarchical"), HasSubstr("matched by \"w*\""))));
    EXPECT_THAT(
        [&] {
          Pulled own(0);
          DistributedOptimizer(engine, own.Parameters(),
                               {.compression = {{"compressor", "topk"}, {"look_ahead", "1"}}});
        },
        ThrowsMessage<InvalidArgument>(HasSubstr("look_ahead")));
  });
}

TEST(LookAhead, WhetherTheRateIsInWhatIsNotSentIsKnownByParameter) {
  std::vector<Parameter> parameters(3);
  parameters[0].name = "a.weight";
  parameters[1].name = "b.weight";
  parameters[2].name = "b.bias";
  Options options = OneEntry({{"momentum[b.*]", "adam"}, {"compressor[*.bias]", "dense"}});
  const LookAheadPlan plan = TakeLookAhead(options, parameters);
  EXPECT_EQ(plan.factor, 1.0f);
  EXPECT_THAT(plan.rate_inside, testing::ElementsAre(false, true, false));
  EXPECT_FALSE(options.contains("look_ahead"));
}

}  // namespace
}  // namespace weir::look_ahead_test
