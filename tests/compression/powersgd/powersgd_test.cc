#include "compression/powersgd/powersgd.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <cmath>
#include <limits>
#include <random>
#include <span>

#include "common/threads/thread_pool.h"
#include "compression/make_compressor.h"
#include "tests/compression/powersgd/factor_ranks.h"
#include "tests/compression/wire/wire_page.h"
#include "weir/error.h"

namespace weir::powersgd_test {
namespace {

using test::FactorRanks;
using test::Floats;
using Matrix = Eigen::MatrixXd;
using RowMajor = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

constexpr Eigen::Index kRows = 40;
constexpr Eigen::Index kCols = 30;
constexpr std::size_t kElements = kRows * kCols;
const Shape kShape{40, 6, 5};

CompressionOptions Options(const char* rank, CompressionOptions more = {}) {
  more.insert({{"compressor", "powersgd"}, {"rank", rank}, {"min_elements", "0"}});
  return more;
}

Matrix MatrixOf(const Floats& values) {
  return Eigen::Map<const RowMajor>(values.data(), kRows, kCols).cast<double>();
}

Floats FloatsOf(const Matrix& matrix) {
  Floats values(kElements);
  Eigen::Map<RowMajor>(values.data(), kRows, kCols) = matrix.cast<float>();
  return values;
}

double LargestOf(const Matrix& matrix) { return matrix.cwiseAbs().maxCoeff(); }

/// The best that a product of two factors of this width can do, by the singular values.
double BestResidual(const Matrix& matrix, Eigen::Index width) {
  const Eigen::VectorXd values = Eigen::JacobiSVD<Matrix>(matrix).singularValues();
  return values.tail(values.size() - width).norm();
}

Matrix Orthonormal(const Matrix& matrix) {
  return Eigen::HouseholderQR<Matrix>(matrix).householderQ() *
         Matrix::Identity(matrix.rows(), matrix.cols());
}

/// The algorithm as it is written down, in double.
class Definition {
 public:
  Definition(std::size_t ranks, Eigen::Index width) : errors_(ranks, Matrix::Zero(kRows, kCols)) {
    // Drawn as documented: uniform numbers of the seed, the name and the step.
    const CounterRandom random(0, "w");
    right_ = Matrix(kCols, width);
    for (Eigen::Index k = 0; k < width; ++k) {
      for (Eigen::Index i = 0; i < kCols; ++i) {
        const auto block = static_cast<std::uint64_t>(k * ((kCols + 3) / 4) + i / 4);
        const auto word = static_cast<std::size_t>(i % 4);
        right_(i, k) = static_cast<std::int32_t>(random.Draw(0, block)[word]) * 0x1p-31;
      }
    }
  }

  Matrix Step(const std::vector<Floats>& gradients, double ratio) {
    const auto ranks = static_cast<double>(gradients.size());
    std::vector<Matrix> matrices;
    Matrix left = Matrix::Zero(kRows, right_.cols());
    const Matrix right = Orthonormal(right_);
    for (std::size_t r = 0; r < gradients.size(); ++r) {
      matrices.emplace_back(MatrixOf(gradients[r]) + ratio * errors_[r]);
      left += matrices[r] * right / ranks;
    }
    left = Orthonormal(left);
    right_.setZero();
    for (std::size_t r = 0; r < gradients.size(); ++r) {
      const Matrix own = matrices[r].transpose() * left;
      errors_[r] = matrices[r] - left * own.transpose();
      right_ += own / ranks;
    }
    return left * right_.transpose();
  }
  const Matrix& error(std::size_t rank) const { return errors_[rank]; }

 private:
  std::vector<Matrix> errors_;
  Matrix right_;
};

class PowerSgdTest : public testing::Test {
 protected:
  Floats Normal() {
    std::normal_distribution<float> normal;
    Floats values(kElements);
    for (float& value : values) value = normal(random_);
    return values;
  }
  std::vector<Floats> NormalOnEach(std::size_t ranks) {
    std::vector<Floats> gradients;
    while (gradients.size() < ranks) gradients.push_back(Normal());
    return gradients;
  }
  /// A matrix whose singular values fall off slowly: 1, 0.9, 0.81, ...
  Matrix Falling() {
    const Matrix u = Orthonormal(MatrixOf(Normal()));
    const Matrix v = Orthonormal(MatrixOf(Normal()).topRows(kCols));
    Eigen::VectorXd values(kCols);
    for (Eigen::Index i = 0; i < kCols; ++i) values(i) = std::pow(0.9, i);
    return u * values.asDiagonal() * v.transpose();
  }

  const unsigned seed_ = std::random_device{}();
  std::mt19937 random_{seed_};
  const testing::ScopedTrace trace_{__FILE__, __LINE__, "seed " + std::to_string(seed_)};
};

TEST_F(PowerSgdTest, FactorsLookAsDocumented) {
  FactorRanks job(1, Options("1"), Shape{3, 3});
  Floats first(3), second(3);
  job.factors(0).EncodeFirst({}, Floats{1, 2, 3, 4, 5, 6, 7, 8, 9}, first);
  job.factors(0).EncodeSecond({}, first, second);
  test::ExpectAsOnThePage(std::as_bytes(std::span(first)), "28 d2 36 c0 b0 d7 ad c0 26 23 00 c1");
  test::ExpectAsOnThePage(std::as_bytes(std::span(second)), "fd c3 ff c0 ee b9 19 c1 de 91 33 c1");
}

TEST_F(PowerSgdTest, IsTheAlgorithmAsWrittenDown) {
  for (const std::size_t ranks : {1u, 2u, 3u}) {
    FactorRanks job(ranks, Options("3"), kShape);
    Definition definition(ranks, 3);
    float previous = 0.1f;
    for (int step = 0; step < 8; ++step) {
      const float rate = step < 4 ? 0.1f : 0.05f;
      const auto gradients = NormalOnEach(ranks);
      const Floats update = job.Step(
          {.step = step, .learning_rate = rate, .previous_learning_rate = previous}, gradients);
      const Matrix expected = definition.Step(gradients, previous / rate);
      EXPECT_LT(LargestOf(MatrixOf(update) - expected), 1e-3) << "step " << step;
      for (std::size_t r = 0; r < ranks; ++r) {
        const Matrix error = MatrixOf(job.StateOf(r, "error"));
        EXPECT_LT(LargestOf(error - definition.error(r)), 1e-3) << "step " << step;
      }
      previous = rate;
    }
  }
}

TEST_F(PowerSgdTest, NoRankLosesAnything) {
  constexpr std::size_t kRanks = 4;
  FactorRanks job(kRanks, Options("2"), kShape);
  Matrix given = Matrix::Zero(kRows, kCols);
  Matrix sent = given;
  for (int step = 0; step < 50; ++step) {
    auto gradients = NormalOnEach(kRanks);
    if (step % 5 == 3) gradients[1].clear();  // It has joined: its error stays.
    for (const Floats& gradient : gradients) {
      if (!gradient.empty()) given += MatrixOf(gradient) / kRanks;
    }
    sent += MatrixOf(job.Step({.step = step}, gradients));
    Matrix left = Matrix::Zero(kRows, kCols);
    for (std::size_t r = 0; r < kRanks; ++r) left += MatrixOf(job.StateOf(r, "error")) / kRanks;
    ASSERT_LT(LargestOf(sent + left - given), 1e-3) << "step " << step;
  }
}

TEST_F(PowerSgdTest, WhatRanksDifferInDoesNotPileUp) {
  const Matrix common = MatrixOf(Normal());
  const Matrix difference = 3.0 * common * MatrixOf(Normal()).topRows(kCols);
  const std::vector<Floats> gradients = {FloatsOf(common + difference),
                                         FloatsOf(common - difference)};
  FactorRanks job(2, Options("4"), kShape);
  double largest = 0.0;
  for (int step = 0; step < 600; ++step) {
    job.Step({.step = step}, gradients);
    const double error = MatrixOf(job.StateOf(0, "error")).norm();
    if (step < 300) {
      largest = std::max(largest, error);
    } else {
      ASSERT_LT(error, 1.2 * largest) << "still grows in step " << step;
    }
  }
}

TEST_F(PowerSgdTest, AMatrixOfLowRankArrivesWholeAtOnce) {
  const Matrix low = MatrixOf(Normal()).leftCols(3) * MatrixOf(Normal()).topRows(3);
  for (const char* rank : {"3", "5"}) {
    FactorRanks job(2, Options(rank), kShape);
    for (int step = 0; step < 3; ++step) {
      const Floats update = job.Step({.step = step}, {FloatsOf(low), FloatsOf(2.0 * low)});
      EXPECT_LT(LargestOf(MatrixOf(update) - 1.5 * low), 1e-3) << "rank " << rank;
    }
  }
}

TEST_F(PowerSgdTest, WarmStartComesToTheBestApproximation) {
  const Matrix fixed = Falling();
  const double best = BestResidual(fixed, 4);
  const auto residual_after = [&](const char* warm_start) {
    FactorRanks job(2, Options("4", {{"ef", "none"}, {"warm_start", warm_start}}), kShape);
    double residual = 0.0;
    for (int step = 0; step < 60; ++step) {
      residual =
          (MatrixOf(job.Step({.step = step}, {FloatsOf(fixed), FloatsOf(fixed)})) - fixed).norm();
    }
    return residual;
  };
  EXPECT_LT(residual_after("true"), 1.001 * best);
  EXPECT_GT(residual_after("false"), 1.02 * best);
}

TEST_F(PowerSgdTest, EveryColdStepDrawsAnew) {
  FactorRanks job(1, Options("2", {{"ef", "none"}, {"warm_start", "false"}}), kShape);
  const Floats gradient = Normal();
  const Floats first = job.Step({.step = 0}, {gradient});
  EXPECT_NE(job.Step({.step = 1}, {gradient}), first);
  EXPECT_EQ(job.Step({.step = 0}, {gradient}), first);
  FactorRanks other(1, Options("2", {{"ef", "none"}, {"warm_start", "false"}, {"seed", "1"}}),
                    kShape);
  EXPECT_NE(other.Step({.step = 0}, {gradient}), first);
}

TEST_F(PowerSgdTest, TheSameBitsForEveryThreadCount) {
  const Shape shape{700, 400};
  const auto run = [&](ThreadPool* pool) {
    std::mt19937 random(5);
    std::normal_distribution<float> normal;
    FactorRanks job(1, Options("5"), shape);
    Floats gradient(700 * 400);
    Floats bits;
    for (int step = 0; step < 3; ++step) {
      for (float& value : gradient) value = normal(random);
      const Floats update = job.Step({.step = step, .pool = pool}, {gradient});
      bits.insert(bits.end(), update.begin(), update.end());
    }
    const Floats error = job.StateOf(0, "error");
    bits.insert(bits.end(), error.begin(), error.end());
    return bits;
  };
  const Floats alone = run(nullptr);
  ThreadPool three(3);
  EXPECT_TRUE(run(&three) == alone);
}

TEST_F(PowerSgdTest, ZerosForAWhileDoNotSilenceATensor) {
  FactorRanks job(2, Options("4"), kShape);
  const Floats zeros(kElements, 0.0f);
  for (int step = 0; step < 3; ++step) {
    EXPECT_THAT(job.Step({.step = step}, {zeros, Floats(kElements, -0.0f)}), testing::Each(0.0f));
  }
  const Matrix low = MatrixOf(Normal()).leftCols(4) * MatrixOf(Normal()).topRows(4);
  const Floats update = job.Step({.step = 3}, {FloatsOf(low), FloatsOf(low)});
  EXPECT_LT(LargestOf(MatrixOf(update) - low), 1e-3);
}

TEST_F(PowerSgdTest, EntriesThatAreNotFiniteCountAsZero) {
  FactorRanks broken(1, Options("4"), kShape);
  FactorRanks whole(1, Options("4"), kShape);
  Floats gradient = Normal();
  gradient[7] = gradient[1000] = 0.0f;
  const Floats expected = whole.Step({}, {gradient});
  gradient[7] = std::numeric_limits<float>::infinity();
  gradient[1000] = std::nanf("");
  EXPECT_EQ(broken.Step({}, {gradient}), expected);
  EXPECT_EQ(broken[0].non_finite_entries(), 2u);
}

TEST_F(PowerSgdTest, NoFiniteGradientPoisonsTheState) {
  const float huge = std::numeric_limits<float>::max();
  const float tiny = std::numeric_limits<float>::denorm_min();
  const std::vector<Floats> patterns = {{huge, -huge, 1}, {tiny, -tiny, 0}, {huge, tiny}, {1e38f}};
  for (const Floats& pattern : patterns) {
    FactorRanks job(2, Options("4"), kShape);
    Floats gradient;
    while (gradient.size() < kElements)
      gradient.push_back(pattern[gradient.size() % pattern.size()]);
    for (int step = 0; step < 4; ++step) {
      const Floats update = job.Step({.step = step}, {gradient, gradient});
      for (const float value : update) ASSERT_TRUE(std::isfinite(value)) << pattern[0];
      for (const char* name : {"error", "factor"}) {
        for (const float value : job.StateOf(0, name)) ASSERT_TRUE(std::isfinite(value)) << name;
      }
    }
  }
}

TEST_F(PowerSgdTest, GradientScaleComesFirst) {
  FactorRanks scaled(1, Options("4"), kShape);
  FactorRanks plain(1, Options("4"), kShape);
  const Floats gradient = Normal();
  Floats halved = gradient;
  for (float& value : halved) value *= 0.5f;
  EXPECT_EQ(scaled.Step({.gradient_scale = 0.5f}, {gradient}), plain.Step({}, {halved}));
}

TEST_F(PowerSgdTest, WhatFactorsDoNotMakeSmallerTravelsDense) {
  const auto has_factors = [](const CompressionOptions& options, const Shape& shape) {
    const auto compressor = MakeCompressor(options, TensorSpec{"w", shape});
    EXPECT_EQ(compressor->summable(), DType::kFloat32);
    return compressor->factors() != nullptr;
  };
  EXPECT_TRUE(has_factors(Options("4"), {100, 100}));
  EXPECT_TRUE(has_factors(Options("4"), {9, 73})) << "656 of 657";
  EXPECT_FALSE(has_factors(Options("4"), {8, 8})) << "64 of 64";
  EXPECT_FALSE(has_factors(Options("50"), {100, 100}));
  EXPECT_FALSE(has_factors(Options("9223372036854775807"), {100, 100}));
  EXPECT_FALSE(has_factors(Options("1"), {100'000})) << "a vector";
  EXPECT_FALSE(has_factors(Options("1"), {}));
  EXPECT_FALSE(has_factors(Options("1"), {0, 5}));
  EXPECT_FALSE(has_factors(Options("1"), {5, 0}));
  EXPECT_FALSE(has_factors({{"compressor", "powersgd"}}, {100, 100})) << "below 64 KiB";
  EXPECT_TRUE(has_factors({{"compressor", "powersgd"}}, {128, 128}));
  EXPECT_TRUE(has_factors(Options("2"), {64, 3, 3, 3})) << "64 x 27";
}

TEST_F(PowerSgdTest, SaysWhatIsWrongWithItsOptions) {
  for (const CompressionOptions& options :
       {Options("0"), Options("2.5"), Options("4", {{"momentum", "nesterov"}}),
        Options("4", {{"policy", "always"}}), Options("4", {{"ef", "some"}})}) {
    EXPECT_THROW(ParseOptions(options), InvalidArgument);
  }
}

}  // namespace
}  // namespace weir::powersgd_test
