#include "weir/dtype.h"

#include <gtest/gtest.h>

#include <set>

namespace weir {
namespace {

TEST(DType, EveryTypeHasItsOwnNameAndAPowerOfTwoSize) {
  std::set<std::string_view> names;
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    names.insert(Name(dtype));
    const std::size_t size = SizeOf(dtype);
    EXPECT_TRUE(size == 1 || size == 2 || size == 4 || size == 8) << Name(dtype);
  }
  EXPECT_EQ(names.size(), static_cast<std::size_t>(kDTypeCount));
  EXPECT_EQ(SizeOf(DType::kBFloat16), 2u);
  EXPECT_EQ(Name(DType::kInt64), "int64");
}

TEST(ReduceOp, NumbersAreHorovods) {
  EXPECT_EQ(static_cast<int>(ReduceOp::kAverage), 0);
  EXPECT_EQ(static_cast<int>(ReduceOp::kSum), 1);
  EXPECT_EQ(static_cast<int>(ReduceOp::kMin), 3);
  EXPECT_EQ(static_cast<int>(ReduceOp::kMax), 4);
  EXPECT_EQ(static_cast<int>(ReduceOp::kProduct), 5);
}

}  // namespace
}  // namespace weir
