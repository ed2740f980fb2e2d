#include "ops/arrays/reduce.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "common/half.h"
#include "tests/ops/arrays/reference.h"
#include "weir/error.h"

namespace weir {
namespace {

template <typename T>
T ReduceOne(DType dtype, const Reduction& reduction, const std::vector<T>& values) {
  std::vector<const std::byte*> sources;
  for (const T& value : values) sources.push_back(reinterpret_cast<const std::byte*>(&value));
  T out{};
  Reduce(dtype, reduction, sources, 1, reinterpret_cast<std::byte*>(&out));
  return out;
}

struct Scales {
  double pre;
  double post;
};

class EveryType : public testing::TestWithParam<DType> {};

TEST_P(EveryType, MatchesTheScalarReference) {
  const DType dtype = GetParam();
  std::vector<Scales> scales = {{1, 1}};
  if (dtype != DType::kBool) scales.insert(scales.end(), {{0.5, 1}, {1, 0.3}, {-1.7, 2.5}});
  for (const int ranks : {1, 2, 3, 4, 7}) {
    std::vector<std::vector<std::byte>> arrays;
    std::vector<const std::byte*> sources;
    const std::size_t elements = 2085;  // two whole blocks, an odd tail
    for (int r = 0; r < ranks; ++r) arrays.push_back(TestValues(dtype, elements, r, 5));
    for (const auto& array : arrays) sources.push_back(array.data());
    for (const ReduceOp op : OpsOf(dtype)) {
      for (const Scales& scale : scales) {
        const Reduction reduction{op, scale.pre, scale.post};
        std::vector<std::byte> out(elements * SizeOf(dtype));
        Reduce(dtype, reduction, sources, elements, out.data());
        EXPECT_EQ(out, ReferenceAllreduce(dtype, reduction, elements, ranks, 5))
            << Name(dtype) << " " << Name(op) << " over " << ranks << " ranks, scaled by "
            << scale.pre << " and " << scale.post;
      }
    }
  }
}

TEST_P(EveryType, OutputMayBeAnySource) {
  const DType dtype = GetParam();
  const std::size_t elements = 1500;
  const Reduction reduction{ReduceOp::kSum, 1.0, 1.0};
  const std::vector<std::byte> expected = ReferenceAllreduce(dtype, reduction, elements, 3, 9);
  for (std::size_t target = 0; target < 3; ++target) {
    std::vector<std::vector<std::byte>> arrays;
    std::vector<const std::byte*> sources;
    for (int r = 0; r < 3; ++r) arrays.push_back(TestValues(dtype, elements, r, 9));
    for (const auto& array : arrays) sources.push_back(array.data());
    Reduce(dtype, reduction, sources, elements, arrays[target].data());
    EXPECT_EQ(arrays[target], expected) << Name(dtype) << ", output is source " << target;
  }
}

INSTANTIATE_TEST_SUITE_P(Reduce, EveryType, testing::ValuesIn(AllDTypes()),
                         [](const auto& type) { return std::string(Name(type.param)); });

TEST(Reduce, SumsInRankOrder) {
  EXPECT_EQ(ReduceOne<float>(DType::kFloat32, {}, {1e8f, 1.0f, -1e8f}), 0.0f);
  EXPECT_EQ(ReduceOne<float>(DType::kFloat32, {}, {1e8f, -1e8f, 1.0f}), 1.0f);
}

TEST(Reduce, HalfIsRoundedOnce) {
  // 2048 + 1 is not an fp16 number; rounding after every rank would lose both ones.
  const std::vector<std::uint16_t> values = {FloatToHalf(2048), FloatToHalf(1), FloatToHalf(1)};
  EXPECT_EQ(HalfToFloat(ReduceOne(DType::kFloat16, {}, values)), 2050.0f);
  // The sum of three leaves fp16's range, their average does not.
  const std::vector<std::uint16_t> large(3, FloatToHalf(60000));
  EXPECT_EQ(ReduceOne(DType::kFloat16, {.op = ReduceOp::kAverage}, large), large[0]);
}

TEST(Reduce, IntegerAverageTruncatesTowardZeroAndDoesNotOverflow) {
  const Reduction average{.op = ReduceOp::kAverage};
  EXPECT_EQ(ReduceOne<std::int32_t>(DType::kInt32, average, {-3, -4}), -3);
  EXPECT_EQ(ReduceOne<std::int32_t>(DType::kInt32, average, {3, 4}), 3);
  EXPECT_EQ(ReduceOne<std::uint8_t>(DType::kUInt8, average, {250, 255, 254}), 253);
  const std::int32_t max = std::numeric_limits<std::int32_t>::max();
  EXPECT_EQ(ReduceOne<std::int32_t>(DType::kInt32, average, {max, max}), max);
}

TEST(Reduce, IntegersAreScaledInDoubleAndTruncated) {
  const auto scaled = [](double pre, double post, std::vector<std::int32_t> values) {
    return ReduceOne<std::int32_t>(DType::kInt32, {ReduceOp::kSum, pre, post}, values);
  };
  EXPECT_EQ(scaled(0.5, 1, {3, 3}), 2);    // 1 + 1
  EXPECT_EQ(scaled(1, 0.5, {3, 4}), 3);    // 7 / 2
  EXPECT_EQ(scaled(1, -0.5, {3, 4}), -3);  // toward zero
  EXPECT_EQ(scaled(1e30, 1, {1}), std::numeric_limits<std::int32_t>::max());
  EXPECT_EQ(scaled(1e30, 1, {-1}), std::numeric_limits<std::int32_t>::min());
}

TEST(Reduce, LargeInt64SumsAreExact) {
  const std::int64_t large = (std::int64_t{1} << 62) + 1;
  EXPECT_EQ(ReduceOne<std::int64_t>(DType::kInt64, {}, {large, 2}), large + 2);
}

TEST(Reduce, MinAndMaxKeepNaN) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const ReduceOp op : {ReduceOp::kMin, ReduceOp::kMax}) {
    for (const auto& values : {std::vector<float>{nan, 1, 2}, {1, nan, 2}, {1, 2, nan}}) {
      EXPECT_TRUE(std::isnan(ReduceOne<float>(DType::kFloat32, {.op = op}, values)));
    }
  }
}

TEST(Reduce, BoolHasNoAverageAndNoScale) {
  EXPECT_THROW(CheckReduction(DType::kBool, {.op = ReduceOp::kAverage}), InvalidArgument);
  EXPECT_THROW(CheckReduction(DType::kBool, {.op = ReduceOp::kSum, .prescale = 2}),
               InvalidArgument);
  EXPECT_NO_THROW(CheckReduction(DType::kBool, {.op = ReduceOp::kSum}));
  EXPECT_NO_THROW(CheckReduction(DType::kInt32, {.op = ReduceOp::kAverage, .prescale = 2}));
}

TEST(Reduce, ScalesMustBeFinite) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW(CheckReduction(DType::kFloat32, {.prescale = nan}), InvalidArgument);
  EXPECT_THROW(CheckReduction(DType::kFloat32, {.postscale = HUGE_VAL}), InvalidArgument);
}

}  // namespace
}  // namespace weir
