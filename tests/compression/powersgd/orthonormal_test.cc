#include "compression/powersgd/orthonormal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace weir {
namespace {

using Floats = std::vector<float>;
using testing::Each;

constexpr std::size_t kLength = 203;

Floats Normal(std::size_t columns, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  Floats values(columns * kLength);
  for (float& value : values) value = normal(random);
  return values;
}

Eigen::MatrixXd MatrixOf(const Floats& columns) {
  return Eigen::Map<const Eigen::MatrixXf>(columns.data(), kLength,
                                           static_cast<Eigen::Index>(columns.size() / kLength))
      .cast<double>();
}

std::span<float> Column(Floats& columns, std::size_t k) {
  return std::span(columns).subspan(k * kLength, kLength);
}

void ExpectOrthonormal(const Floats& columns) {
  const Eigen::MatrixXd q = MatrixOf(columns);
  const auto identity = Eigen::MatrixXd::Identity(q.cols(), q.cols());
  EXPECT_LT((q.transpose() * q - identity).cwiseAbs().maxCoeff(), 1e-6);
}

TEST(Orthonormal, ColumnsBecomeOrthonormalAndSpanWhatTheyDid) {
  const Floats before = Normal(6, 1);
  Floats after = before;
  Orthonormalise(after, kLength);
  ExpectOrthonormal(after);
  const Eigen::MatrixXd a = MatrixOf(before);
  const Eigen::MatrixXd q = MatrixOf(after);
  for (Eigen::Index k = 1; k <= 6; ++k) {
    const auto qk = q.leftCols(k);
    const Eigen::MatrixXd rest = a.leftCols(k) - qk * (qk.transpose() * a.leftCols(k));
    EXPECT_LT(rest.cwiseAbs().maxCoeff(), 1e-5) << k;
  }
}

TEST(Orthonormal, NearlyDependentColumnsBecomeOrthonormalToo) {
  Floats columns = Normal(4, 2);
  for (std::size_t k = 1; k < 4; ++k) {
    for (std::size_t i = 0; i < kLength; ++i) {
      columns[k * kLength + i] = columns[i] + 1e-4f * columns[k * kLength + i];
    }
  }
  Orthonormalise(columns, kLength);
  ExpectOrthonormal(columns);
}

TEST(Orthonormal, TheScaleOfAColumnDoesNotMatter) {
  const Floats columns = Normal(2, 3);
  Floats expected = columns;
  Orthonormalise(expected, kLength);
  for (const float scale : {0x1p-120f, 0x1p+120f}) {
    Floats scaled = columns;
    for (float& value : Column(scaled, 1)) value *= scale;
    Orthonormalise(scaled, kLength);
    for (std::size_t i = 0; i < scaled.size(); ++i) ASSERT_NEAR(scaled[i], expected[i], 1e-6);
  }
}

/// Zero, a multiple of another one, and what is not finite.
std::vector<Floats> Useless() {
  const Floats columns = Normal(3, 4);
  std::vector<Floats> useless(4, columns);
  std::ranges::fill(Column(useless[0], 1), 0.0f);
  for (std::size_t i = 0; i < kLength; ++i) Column(useless[1], 1)[i] = -3.0f * columns[i];
  Column(useless[2], 1)[5] = std::numeric_limits<float>::infinity();
  Column(useless[3], 1)[5] = std::nanf("");
  return useless;
}

TEST(Orthonormal, AUselessColumnBecomesZero) {
  for (Floats& columns : Useless()) {
    Orthonormalise(columns, kLength);
    EXPECT_THAT(Column(columns, 1), Each(0.0f));
    columns.erase(columns.begin() + kLength, columns.begin() + 2 * kLength);
    ExpectOrthonormal(columns);
  }
}

TEST(Orthonormal, AUselessColumnIsDrawnAnew) {
  for (Floats& columns : Useless()) {
    Orthonormalise(columns, kLength, [](std::size_t column, std::span<float> values) {
      EXPECT_EQ(column, 1u);
      std::ranges::copy(Normal(1, 5), values.begin());
    });
    ExpectOrthonormal(columns);
  }
}

TEST(Orthonormal, AUselessDrawBecomesZero) {
  for (Floats& columns : Useless()) {
    const Floats first(columns.begin(), columns.begin() + kLength);
    Orthonormalise(columns, kLength, [&first](std::size_t, std::span<float> values) {
      std::ranges::copy(first, values.begin());
    });
    EXPECT_THAT(Column(columns, 1), Each(0.0f));
  }
}

}  // namespace
}  // namespace weir
