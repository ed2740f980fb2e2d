#include "compression/dgc/weight_decay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace weir {
namespace {

TEST(WeightDecay, BuildsMomentumOfItsOwn) {
  const std::vector<float> weights = {8.0f};
  const auto two_steps = [&](Momentum momentum) {
    WeightDecay decay(momentum, 0.5f, 0.25f, 1);
    std::vector<float> directions;
    for (int t = 0; t < 2; ++t) {
      std::vector<float> direction = {100.0f};
      decay.Apply(weights, direction);
      directions.push_back(direction[0] - 100.0f);
    }
    return directions;
  };
  EXPECT_THAT(two_steps(Momentum::kNone), testing::ElementsAre(2, 2));
  EXPECT_THAT(two_steps(Momentum::kVanilla), testing::ElementsAre(2, 3));
  EXPECT_THAT(two_steps(Momentum::kNesterov), testing::ElementsAre(3, 3.5f));
}

TEST(WeightDecay, LocalFormJoinsTheGradient) {
  const std::vector<float> weights = {10.0f, -20.0f};
  std::vector<float> gradient = {1.0f, 2.0f};
  AddLocalWeightDecay(weights, 0.5f, gradient);
  EXPECT_THAT(gradient, testing::ElementsAre(6, -8));
}

}  // namespace
}  // namespace weir
