#include "weir/eigen.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <Eigen/Core>

#include "weir/engine.h"

namespace weir::eigen_test {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(EigenParameters, DescribeMatricesVectorsAndArraysWhereTheyLie) {
  Eigen::MatrixXf matrix(2, 3);
  Eigen::MatrixXf matrix_gradient(2, 3);
  const Parameter of_matrix = EigenParameter("m", matrix, matrix_gradient, 4);
  EXPECT_EQ(of_matrix.name, "m");
  EXPECT_EQ(of_matrix.value.data(), matrix.data());
  EXPECT_EQ(of_matrix.gradient.data(), matrix_gradient.data());
  EXPECT_EQ(of_matrix.gradient.size(), 6u);
  EXPECT_EQ(of_matrix.shape, (Shape{2, 3}));
  EXPECT_EQ(of_matrix.parameter_group, 4);

  Eigen::VectorXf vector(5);
  Eigen::VectorXf vector_gradient(5);
  EXPECT_EQ(EigenParameter("v", vector, vector_gradient).shape, Shape{5});

  Eigen::Array<float, 2, 2> array;
  Eigen::Array<float, 2, 2> array_gradient;
  EXPECT_EQ(EigenParameter("a", array, array_gradient).shape, (Shape{2, 2}));
}

TEST(EigenParameters, RefuseAGradientOfAnotherShapeByName) {
  Eigen::MatrixXf value(2, 3);
  Eigen::MatrixXf gradient(3, 2);
  EXPECT_THAT([&] { EigenParameter("weights", value, gradient); },
              ThrowsMessage<InvalidArgument>(
                  AllOf(HasSubstr("'weights'"), HasSubstr("[2, 3]"), HasSubstr("[3, 2]"))));
}

TEST(EigenParameters, RefuseWhatIsNotOneBlockOfColumns) {
  Eigen::MatrixXf whole(4, 4);
  Eigen::MatrixXf gradient(2, 4);
  auto rows = whole.topRows(2);
  EXPECT_THAT([&] { EigenParameter("part", rows, gradient); },
              ThrowsMessage<InvalidArgument>(HasSubstr("'part'")));
  Eigen::Matrix<float, 2, 4, Eigen::RowMajor> row_major;
  EXPECT_THAT([&] { EigenParameter("rows", gradient, row_major); },
              ThrowsMessage<InvalidArgument>(HasSubstr("'rows'")));
  auto row = whole.row(1);
  auto other_row = whole.row(2);
  EXPECT_THAT([&] { EigenParameter("row", row, other_row); },
              ThrowsMessage<InvalidArgument>(HasSubstr("'row'")));

  auto columns = whole.rightCols(3);
  Eigen::MatrixXf columns_gradient(4, 3);
  EXPECT_EQ(EigenParameter("columns", columns, columns_gradient).value.data(), &whole(0, 1));
  Eigen::RowVectorXf line(5);
  Eigen::RowVectorXf line_gradient(5);
  EXPECT_EQ(EigenParameter("line", line, line_gradient).shape, (Shape{1, 5}));
}

TEST(EigenParameters, TrainBesidePlainSpans) {
  RunLocal(3, [](Engine& engine) {
    const auto rank = static_cast<float>(engine.rank());
    Eigen::MatrixXf weights = Eigen::MatrixXf::Constant(4, 3, 10.0f + rank);
    Eigen::MatrixXf weights_gradient(4, 3);
    std::vector<float> bias(4, 20.0f + rank);
    std::vector<float> bias_gradient(4);
    DistributedOptimizer optimizer(
        engine,
        {EigenParameter("weights", weights, weights_gradient),
         {.name = "bias", .value = bias, .gradient = bias_gradient, .shape = Shape{4}}},
        {});
    optimizer.BeginStep(0.5f);
    for (Eigen::Index i = 0; i < 4; ++i) {
      for (Eigen::Index j = 0; j < 3; ++j) {
        weights_gradient(i, j) = 3.0f * rank * static_cast<float>(i) + static_cast<float>(j);
      }
      bias_gradient[static_cast<std::size_t>(i)] = rank;
    }
    optimizer.GradientReady(1);
    optimizer.GradientReady(0);
    optimizer.Step();
    for (Eigen::Index i = 0; i < 4; ++i) {
      for (Eigen::Index j = 0; j < 3; ++j) {
        // Ranks 0, 1 and 2: their mean is 1.
        const float mean = 3.0f * static_cast<float>(i) + static_cast<float>(j);
        EXPECT_EQ(weights(i, j), 10.0f - 0.5f * mean) << i << ", " << j;
      }
    }
    EXPECT_THAT(bias, testing::Each(20.0f - 0.5f));
  });
}

}  // namespace
}  // namespace weir::eigen_test
