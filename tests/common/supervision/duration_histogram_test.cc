#include "common/supervision/duration_histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "weir/error.h"

namespace weir {
namespace {

TEST(DurationHistogram, QuantilesAreRightWithinOnePercent) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  std::lognormal_distribution<double> durations(std::log(20e6), 1.5);
  DurationHistogram histogram;
  std::vector<std::int64_t> all;
  for (int i = 0; i < 5000; ++i) {
    all.push_back(std::max<std::int64_t>(2000, static_cast<std::int64_t>(durations(random))));
    histogram.Add(all.back());
  }
  std::ranges::sort(all);
  EXPECT_EQ(histogram.count(), all.size());
  for (const double quantile : {0.01, 0.5, 0.95, 1.0}) {
    const auto place = static_cast<std::size_t>(std::ceil(quantile * 5000)) - 1;
    const double exact = static_cast<double>(all[place]) * 1e-9;
    EXPECT_NEAR(histogram.QuantileSeconds(quantile), exact, 0.008 * exact) << quantile;
  }
}

TEST(DurationHistogram, WhatIsBeyondItsRangeCountsAsItsEnds) {
  for (const std::int64_t ns :
       {std::numeric_limits<std::int64_t>::min(), std::int64_t{0}, std::int64_t{1024}}) {
    EXPECT_EQ(DurationHistogram::ClassOf(ns), 0) << ns;
  }
  EXPECT_EQ(DurationHistogram::ClassOf(std::numeric_limits<std::int64_t>::max()),
            DurationHistogram::kClasses - 1);
}

TEST(DurationHistogram, EveryClassHoldsItsOwnMiddle) {
  for (int number = 0; number < DurationHistogram::kClasses; ++number) {
    const double middle = DurationHistogram::SecondsOf(number);
    ASSERT_EQ(DurationHistogram::ClassOf(std::llround(middle * 1e9)), number);
  }
}

TEST(DurationHistogram, MergingIsAddingBoth) {
  DurationHistogram one, other;
  one.Add(1'000'000);
  other.Add(1'000'000);
  other.Add(9'000'000);
  one.Merge(other);
  EXPECT_EQ(one.count(), 3U);
  EXPECT_NEAR(one.QuantileSeconds(0.5), 1e-3, 1e-5);
  EXPECT_NEAR(one.QuantileSeconds(1.0), 9e-3, 1e-4);
  EXPECT_EQ(DurationHistogram().QuantileSeconds(0.5), 0.0);
}

TEST(DurationHistogram, AClassThatDoesNotExistIsRefused) {
  DurationHistogram histogram;
  EXPECT_THROW(histogram.AddToClass(-1, 1), InvalidArgument);
  EXPECT_THROW(histogram.AddToClass(DurationHistogram::kClasses, 1), InvalidArgument);
}

}  // namespace
}  // namespace weir
