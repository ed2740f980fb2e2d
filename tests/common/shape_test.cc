#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <vector>

#include "weir/error.h"
#include "weir/tensor.h"

namespace weir {
namespace {

TEST(Shape, ScalarHasOneElement) {
  EXPECT_EQ(Shape{}.elements(), 1);
  EXPECT_EQ(Shape{}.ToString(), "[]");
}

TEST(Shape, ElementsAreTheProductAndZeroIsAllowed) {
  EXPECT_EQ((Shape{3, 5}).elements(), 15);
  EXPECT_EQ((Shape{3, 0, 5}).elements(), 0);
  EXPECT_EQ((Shape{3, 5}).ToString(), "[3, 5]");
}

TEST(Shape, RefusesWhatCannotBeATensor) {
  EXPECT_THROW((Shape{-1}), InvalidArgument);
  EXPECT_THROW((Shape{std::numeric_limits<std::int64_t>::max(), 2}), InvalidArgument);
  EXPECT_THROW(Shape(std::vector<std::int64_t>(9, 1)), InvalidArgument);
}

TEST(TensorView, KnowsItsBytes) {
  std::vector<double> values(7);
  EXPECT_EQ(ViewOf(std::span<double>(values)).bytes(), 56u);
  EXPECT_EQ(ViewOf(std::span<const double>(values)).dtype, DType::kFloat64);
}

}  // namespace
}  // namespace weir
