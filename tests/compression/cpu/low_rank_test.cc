#include "compression/cpu/low_rank.h"

#include <gtest/gtest.h>
#include <hwy/highway.h>

#include <Eigen/Dense>
#include <functional>
#include <random>
#include <vector>

namespace weir::cpu {
namespace {

using Floats = std::vector<float>;
using RowMajor = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

const LowRankShape kShapes[] = {{1, 1, 1},    {1, 9, 2},      {9, 1, 2},     {7, 5, 3},
                                {33, 20, 4},  {64, 513, 5},   {601, 8, 6},   {40, 1100, 8},
                                {300, 30, 1}, {1030, 70, 12}, {3, 70'001, 4}};

Floats Normal(std::size_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  Floats values(n);
  for (float& value : values) value = normal(random);
  return values;
}

/// The definition, in double.
Eigen::MatrixXd MatrixOf(const LowRankShape& shape, const Floats& values) {
  return Eigen::Map<const RowMajor>(values.data(), static_cast<Eigen::Index>(shape.rows),
                                    static_cast<Eigen::Index>(shape.cols))
      .cast<double>();
}

Eigen::MatrixXd FactorOf(std::size_t length, const LowRankShape& shape, const Floats& values) {
  return Eigen::Map<const Eigen::MatrixXf>(values.data(), static_cast<Eigen::Index>(length),
                                           static_cast<Eigen::Index>(shape.width))
      .cast<double>();
}

/// On each instruction set that this machine has, and with no, one and three threads.
void OnEveryTarget(const std::function<void(ThreadPool*)>& test) {
  ThreadPool one(1);
  ThreadPool three(3);
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    SCOPED_TRACE(hwy::TargetName(target));
    hwy::SetSupportedTargetsForTest(target);
    for (ThreadPool* pool : {static_cast<ThreadPool*>(nullptr), &one, &three}) test(pool);
  }
  hwy::SetSupportedTargetsForTest(0);
}

/// `compute` gives what `wanted` says, and the same bits however it is computed.
void ExpectThe(const Eigen::MatrixXd& wanted, const std::function<Floats(ThreadPool*)>& compute,
               const std::function<Eigen::MatrixXd(const Floats&)>& read) {
  Floats first;
  OnEveryTarget([&](ThreadPool* pool) {
    const Floats found = compute(pool);
    if (first.empty()) {
      first = found;
      const double rounding = 1e-6 * (1.0 + wanted.cwiseAbs().maxCoeff());
      EXPECT_LT((read(found) - wanted).cwiseAbs().maxCoeff(), 5 * rounding);
    }
    EXPECT_TRUE(found == first);
  });
}

class LowRank : public testing::TestWithParam<LowRankShape> {
 protected:
  const LowRankShape shape_ = GetParam();
  const Floats matrix_ = Normal(shape_.matrix_size(), 1);
  const Floats left_ = Normal(shape_.left_size(), 2);
  const Floats right_ = Normal(shape_.right_size(), 3);
  const Eigen::MatrixXd m_ = MatrixOf(shape_, matrix_);
  const Eigen::MatrixXd p_ = FactorOf(shape_.rows, shape_, left_);
  const Eigen::MatrixXd q_ = FactorOf(shape_.cols, shape_, right_);
};

TEST_P(LowRank, TheMatrixTimesItsRightFactorOnThreadsToo) {
  ExpectThe(
      m_ * q_,
      [&](ThreadPool* pool) {
        Floats left(shape_.left_size(), 99.0f);
        TimesRight(shape_, matrix_, right_, left, pool);
        return left;
      },
      [&](const Floats& left) { return FactorOf(shape_.rows, shape_, left); });
}

TEST_P(LowRank, TheTransposedMatrixTimesItsLeftFactorOnThreadsToo) {
  ExpectThe(
      m_.transpose() * p_,
      [&](ThreadPool* pool) {
        Floats right(shape_.right_size(), 99.0f);
        TimesLeft(shape_, matrix_, left_, right, pool);
        return right;
      },
      [&](const Floats& right) { return FactorOf(shape_.cols, shape_, right); });
}

TEST_P(LowRank, TheProductOfTheFactorsIsStoredAddedAndSubtractedOnThreadsToo) {
  const Eigen::MatrixXd product = p_ * q_.transpose();
  const auto outer = [&](Use use) {
    return [this, use](ThreadPool* pool) {
      Floats matrix = matrix_;
      Outer(shape_, left_, right_, use, matrix, pool);
      return matrix;
    };
  };
  const auto read = [&](const Floats& matrix) { return MatrixOf(shape_, matrix); };
  ExpectThe(product, outer(Use::kStore), read);
  ExpectThe(m_ + product, outer(Use::kAdd), read);
  ExpectThe(m_ - product, outer(Use::kSubtract), read);
}

INSTANTIATE_TEST_SUITE_P(Shapes, LowRank, testing::ValuesIn(kShapes), [](const auto& test) {
  return std::to_string(test.param.rows) + "x" + std::to_string(test.param.cols) + "Width" +
         std::to_string(test.param.width);
});

}  // namespace
}  // namespace weir::cpu
