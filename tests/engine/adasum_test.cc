// Adasum against a reference in double, entry by entry and level by level.
#include "ops/adasum.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "common/half_array.h"
#include "tests/engine/job.h"
#include "tests/engine/text_of.h"

namespace weir {
namespace {

using testing::HasSubstr;
using Values = std::vector<double>;

class Adasums : public testing::TestWithParam<int> {
 protected:
  int ranks() const { return GetParam(); }
};

/// What a rank brings: different lengths of gradient, partly alike.
Values Input(int rank, std::size_t elements, std::uint32_t salt) {
  Values values(elements);
  for (std::size_t i = 0; i < elements; ++i) {
    const auto x = static_cast<double>(i + salt);
    values[i] = (rank + 1) * std::sin(x) + std::cos(x * (rank + 2));
  }
  return values;
}

double Dot(const Values& a, const Values& b) {
  double sum = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

Values Pair(const Values& a, const Values& b) {
  const double dot = Dot(a, b), aa = Dot(a, a), bb = Dot(b, b);
  Values result(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    result[i] =
        (aa == 0 ? 1 : 1 - dot / (2 * aa)) * a[i] + (bb == 0 ? 1 : 1 - dot / (2 * bb)) * b[i];
  }
  return result;
}

/// Neighbours, then neighbours of neighbours; who has none waits for the next level.
Values Reference(std::vector<Values> level) {
  while (level.size() > 1) {
    std::vector<Values> next;
    for (std::size_t i = 0; i < level.size(); i += 2) {
      next.push_back(i + 1 < level.size() ? Pair(level[i], level[i + 1]) : level[i]);
    }
    level = std::move(next);
  }
  return level.front();
}

std::vector<std::byte> ToBytes(const Values& values, DType dtype) {
  std::vector<std::byte> bytes(values.size() * SizeOf(dtype));
  const std::vector<float> floats(values.begin(), values.end());
  auto* halves = reinterpret_cast<std::uint16_t*>(bytes.data());
  if (dtype == DType::kFloat64) std::memcpy(bytes.data(), values.data(), bytes.size());
  if (dtype == DType::kFloat32) std::memcpy(bytes.data(), floats.data(), bytes.size());
  if (dtype == DType::kFloat16) FloatsToHalves(floats, {halves, values.size()});
  if (dtype == DType::kBFloat16) FloatsToBFloat16s(floats, {halves, values.size()});
  return bytes;
}

Values FromBytes(const std::vector<std::byte>& bytes, DType dtype) {
  const std::size_t n = bytes.size() / SizeOf(dtype);
  std::vector<float> floats(n);
  const auto* halves = reinterpret_cast<const std::uint16_t*>(bytes.data());
  if (dtype == DType::kFloat64) {
    Values values(n);
    std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }
  if (dtype == DType::kFloat32) std::memcpy(floats.data(), bytes.data(), bytes.size());
  if (dtype == DType::kFloat16) HalvesToFloats({halves, n}, floats);
  if (dtype == DType::kBFloat16) BFloat16sToFloats({halves, n}, floats);
  return {floats.begin(), floats.end()};
}

/// How far a rounded result may be from the reference, of its largest entry.
double Tolerance(DType dtype) {
  if (dtype == DType::kFloat64) return 1e-12;
  if (dtype == DType::kFloat32) return 1e-6;
  return dtype == DType::kFloat16 ? 1e-3 : 8e-3;
}

void ExpectNear(const Values& found, const Values& expected, DType dtype) {
  ASSERT_EQ(found.size(), expected.size());
  double largest = 0.0;
  for (const double x : expected) largest = std::max(largest, std::abs(x));
  for (std::size_t i = 0; i < found.size(); ++i) {
    ASSERT_NEAR(found[i], expected[i], Tolerance(dtype) * largest) << "entry " << i;
  }
}

constexpr DType kTypes[] = {DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kBFloat16};

TEST_P(Adasums, FollowTheReferenceToTheSameBitsOnAllRanks) {
  RunJob(ranks(), [&](Engine& engine) {
    // The last one travels in several messages.
    for (const std::size_t elements : {0u, 1u, 7u, 1000u, 300000u}) {
      for (const DType dtype : kTypes) {
        SCOPED_TRACE(std::to_string(elements) + " of " + std::string(Name(dtype)));
        std::vector<Values> inputs;
        for (int rank = 0; rank < ranks(); ++rank) {
          inputs.push_back(FromBytes(ToBytes(Input(rank, elements, 1), dtype), dtype));
          for (double& value : inputs.back()) value *= 0.5;
        }
        Values expected = Reference(inputs);
        for (double& value : expected) value *= 3.0;
        const auto mine = ToBytes(Input(engine.rank(), elements, 1), dtype);
        std::vector<std::byte> result(mine.size());
        const Shape shape{static_cast<std::int64_t>(elements)};
        const ReduceOptions options{.op = ReduceOp::kAdasum, .prescale = 0.5, .postscale = 3.0};
        engine.Wait(engine.Allreduce("a", {mine.data(), dtype, shape},
                                     {result.data(), dtype, shape}, options));
        ExpectNear(FromBytes(result, dtype), expected, dtype);
        std::vector<std::byte> in_place = mine;
        engine.Wait(engine.Allreduce("b", {in_place.data(), dtype, shape},
                                     {in_place.data(), dtype, shape}, options));
        EXPECT_TRUE(in_place == result);
        std::vector<std::byte> of_rank_0 = result;
        engine.Wait(engine.Broadcast("c", {of_rank_0.data(), dtype, shape}, 0));
        EXPECT_TRUE(of_rank_0 == result);
      }
    }
  });
}

TEST_P(Adasums, EachTensorOfAGroupHasFactorsOfItsOwn) {
  RunJob(ranks(), [&](Engine& engine) {
    std::vector<std::vector<std::byte>> tensors;
    std::vector<Engine::ReduceTensor> group;
    const std::size_t sizes[] = {3, 0, 500, 8};
    for (std::size_t t = 0; t < std::size(sizes); ++t) {
      const auto salt = static_cast<std::uint32_t>(100 * t);
      tensors.push_back(ToBytes(Input(engine.rank(), sizes[t], salt), kTypes[t]));
    }
    for (std::size_t t = 0; t < std::size(sizes); ++t) {
      const TensorView view{tensors[t].data(), kTypes[t],
                            Shape{static_cast<std::int64_t>(sizes[t])}};
      group.push_back({view, view});
    }
    engine.Wait(engine.GroupedAllreduce("g", group, {.op = ReduceOp::kAdasum}));
    for (std::size_t t = 0; t < std::size(sizes); ++t) {
      SCOPED_TRACE(t);
      std::vector<Values> inputs;
      for (int rank = 0; rank < ranks(); ++rank) {
        const auto salt = static_cast<std::uint32_t>(100 * t);
        inputs.push_back(FromBytes(ToBytes(Input(rank, sizes[t], salt), kTypes[t]), kTypes[t]));
      }
      ExpectNear(FromBytes(tensors[t], kTypes[t]), Reference(inputs), kTypes[t]);
    }
  });
}

TEST_P(Adasums, WhatAllHaveCountsOnceWhatIsOrthogonalAddsUpAndZerosChangeNothing) {
  RunJob(ranks(), [&](Engine& engine) {
    const auto n = static_cast<std::size_t>(ranks());
    const auto self = static_cast<std::size_t>(engine.rank());
    const auto combine = [&](std::vector<float> values) {
      const TensorView view{values.data(), DType::kFloat32,
                            Shape{static_cast<std::int64_t>(values.size())}};
      engine.Wait(engine.Allreduce("x", view, view, {.op = ReduceOp::kAdasum}));
      return values;
    };
    EXPECT_EQ(combine({1, -2, 3}), (std::vector<float>{1, -2, 3}));
    std::vector<float> unit(n);
    unit[self] = static_cast<float>(self + 1);
    std::vector<float> all(n);
    for (std::size_t i = 0; i < n; ++i) all[i] = static_cast<float>(i + 1);
    EXPECT_EQ(combine(unit), all);
    const bool last = self + 1 == n;
    EXPECT_EQ(combine(last ? std::vector<float>{5, 6} : std::vector<float>{0, 0}),
              (std::vector<float>{5, 6}));
  });
}

TEST_P(Adasums, AreForFloatingPointAllreducesAlone) {
  RunJob(ranks(), [&](Engine& engine) {
    std::vector<std::int32_t> integers(static_cast<std::size_t>(ranks()));
    const TensorView view{integers.data(), DType::kInt32, Shape{ranks()}};
    EXPECT_THAT(TextOf<InvalidArgument>(
                    [&] { engine.Allreduce("i", view, view, {.op = ReduceOp::kAdasum}); }),
                HasSubstr("Adasum works on floating-point types, not on int32"));
    const TensorView floats{integers.data(), DType::kFloat32, Shape{ranks()}};
    const AllocateOutput nothing = [](const Shape&, auto) -> void* { return nullptr; };
    EXPECT_THAT(TextOf<InvalidArgument>(
                    [&] { engine.Reducescatter("r", floats, nothing, {.op = ReduceOp::kAdasum}); }),
                HasSubstr("in an all-reduce alone"));
  });
}

// Not "Ranks", of which sanitizers leave out 4: only from there on is a rank in the middle of the
// tree.
INSTANTIATE_TEST_SUITE_P(Trees, Adasums, testing::ValuesIn(JobSizes()),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace weir
