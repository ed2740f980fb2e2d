#include "compression/dgc/clipping.h"

#include <gtest/gtest.h>

#include <limits>

namespace weir {
namespace {

TEST(Clipping, ThresholdGrowsWithTheRootOfRanks) {
  EXPECT_DOUBLE_EQ(ClippingThreshold(0.25, 1, GradientScaling::kLocalMean), 0.25);
  EXPECT_DOUBLE_EQ(ClippingThreshold(0.25, 16, GradientScaling::kLocalMean), 1.0);
}

TEST(Clipping, BothScalingsClipTheSameGradients) {
  for (int ranks : {1, 2, 7, 64}) {
    for (double clip_scale : {0.5, 0.0, 1.0}) {
      EXPECT_NEAR(ClippingThreshold(3.0, ranks, GradientScaling::kLocalMean, clip_scale) / ranks,
                  ClippingThreshold(3.0, ranks, GradientScaling::kDividedByRanks, clip_scale),
                  1e-12);
    }
  }
  EXPECT_DOUBLE_EQ(ClippingThreshold(3.0, 9, GradientScaling::kDividedByRanks), 1.0);
}

TEST(Clipping, CoefficientOnlyShrinks) {
  EXPECT_EQ(ClippingCoefficient(0.0, 1.0), 1.0f);
  EXPECT_EQ(ClippingCoefficient(1.0, 1.0), 1.0f);
  EXPECT_EQ(ClippingCoefficient(4.0, 1.0), 0.25f);
}

TEST(Clipping, ABrokenNormDoesNotEraseTheGradient) {
  EXPECT_EQ(ClippingCoefficient(std::numeric_limits<double>::infinity(), 1.0), 1.0f);
  EXPECT_EQ(ClippingCoefficient(std::numeric_limits<double>::quiet_NaN(), 1.0), 1.0f);
}

}  // namespace
}  // namespace weir
