// Adasum by name, against the reference of tests/ops.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/coordinator/jobs/job.h"
#include "tests/coordinator/jobs/text_of.h"
#include "tests/ops/collectives/adasum_reference.h"

namespace weir {
namespace {

using testing::HasSubstr;

class Adasums : public testing::TestWithParam<int> {
 protected:
  int ranks() const { return GetParam(); }
};

TEST_P(Adasums, FollowTheReferenceToTheSameBitsOnAllRanks) {
  RunJob(ranks(), [&](Engine& engine) {
    for (const std::size_t elements : {0u, 7u, 1000u}) {
      for (const DType dtype : adasum::kTypes) {
        SCOPED_TRACE(std::to_string(elements) + " of " + std::string(Name(dtype)));
        const auto mine = adasum::InputBytes(engine.rank(), elements, 1, dtype);
        std::vector<std::byte> result(mine.size());
        const Shape shape{static_cast<std::int64_t>(elements)};
        const ReduceOptions options{.op = ReduceOp::kAdasum, .prescale = 0.5, .postscale = 3.0};
        engine.Wait(engine.Allreduce("a", {mine.data(), dtype, shape},
                                     {result.data(), dtype, shape}, options));
        adasum::ExpectNear(result, adasum::Expected(ranks(), elements, 1, dtype, 0.5, 3.0), dtype);
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
    const auto salt = [](std::size_t t) { return static_cast<std::uint32_t>(100 * t); };
    for (std::size_t t = 0; t < std::size(sizes); ++t) {
      const DType dtype = adasum::kTypes[t];
      tensors.push_back(adasum::InputBytes(engine.rank(), sizes[t], salt(t), dtype));
      const TensorView view{tensors[t].data(), dtype, Shape{static_cast<std::int64_t>(sizes[t])}};
      group.push_back({view, view});
    }
    engine.Wait(engine.GroupedAllreduce("g", group, {.op = ReduceOp::kAdasum}));
    for (std::size_t t = 0; t < std::size(sizes); ++t) {
      SCOPED_TRACE(t);
      const DType dtype = adasum::kTypes[t];
      adasum::ExpectNear(tensors[t], adasum::Expected(ranks(), sizes[t], salt(t), dtype), dtype);
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
                HasSubstr("only in an all-reduce"));
  });
}

// Not "Ranks", of which sanitizers leave out 4: only from there on is a rank in the middle of the
// tree.
INSTANTIATE_TEST_SUITE_P(Trees, Adasums, testing::ValuesIn(JobSizes()),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace weir
