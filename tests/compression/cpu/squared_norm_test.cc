#include "compression/cpu/squared_norm.h"

#include <gtest/gtest.h>
#include <hwy/highway.h>

#include <limits>
#include <random>
#include <vector>

#include "tests/compression/dgc/simulated_ranks.h"

namespace weir::cpu {
namespace {

std::vector<float> Normal(std::size_t n) {
  std::mt19937 random(static_cast<unsigned>(n));
  return NormalGradients(1, n, random)[0];
}

TEST(SquaredNorm, SumsSquaresOfScaledEntries) {
  EXPECT_EQ(SquaredNorm({}, 1.0f).sum, 0.0);
  EXPECT_EQ(SquaredNorm(std::vector<float>{3.0f, -4.0f}, 2.0f).sum, 100.0);
  for (std::size_t n : {1, 15, 17, 4096, 4097, 12345, 300000, 1 << 20}) {
    const auto values = Normal(n);
    double sum = 0;
    for (float x : values) {
      const float scaled = x * 0.3f;
      sum += static_cast<double>(scaled) * scaled;
    }
    const auto found = SquaredNorm(values, 0.3f);
    EXPECT_NEAR(found.sum, sum, 1e-12 * sum) << n;
    EXPECT_TRUE(found.finite);
  }
}

TEST(SquaredNorm, SameBitsOnEveryTargetAndThreadCount) {
  for (std::size_t n : {1, 16, 17, 4097, 300000, 1000003}) {
    const auto values = Normal(n);
    const double wanted = SquaredNorm(values, 0.7f).sum;
    for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
      hwy::SetSupportedTargetsForTest(target);
      for (int threads : {1, 2, 4}) {
        ThreadPool pool(threads);
        EXPECT_EQ(SquaredNorm(values, 0.7f, &pool).sum, wanted) << hwy::TargetName(target);
      }
      hwy::SetSupportedTargetsForTest(0);
    }
  }
}

TEST(SquaredNorm, TellsWhetherEveryEntryIsFinite) {
  auto values = Normal(100000);
  values[99999] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_FALSE(SquaredNorm(values, 1.0f).finite);
  values[99999] = -std::numeric_limits<float>::infinity();
  EXPECT_FALSE(SquaredNorm(values, 1.0f).finite);
  values[99999] = std::numeric_limits<float>::max();
  EXPECT_TRUE(SquaredNorm(values, 1.0f).finite);
  EXPECT_FALSE(SquaredNorm(values, 2.0f).finite);
}

}  // namespace
}  // namespace weir::cpu
