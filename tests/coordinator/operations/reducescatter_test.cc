// A reduce-scatter is an all-reduce of which each rank keeps its rows.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "coordinator/engine/engine_impl.h"
#include "tests/coordinator/jobs/job.h"
#include "tests/coordinator/jobs/result.h"
#include "tests/ops/arrays/reference.h"

namespace weir {
namespace {

using testing::HasSubstr;

class Reducescatters : public testing::TestWithParam<int> {
 protected:
  int ranks() const { return GetParam(); }
};

TEST(RowsOfRank, TheFirstRanksHaveTheRowsThatAreLeftOver) {
  for (int size = 1; size <= 5; ++size) {
    for (std::int64_t rows = 0; rows < 20; ++rows) {
      std::int64_t sum = 0, before = rows;
      for (int rank = 0; rank < size; ++rank) {
        const std::int64_t mine = RowsOfRank(rows, rank, size);
        EXPECT_LE(mine, before);
        EXPECT_GE(mine, rows / size);
        EXPECT_LE(mine, rows / size + 1);
        before = mine;
        sum += mine;
      }
      EXPECT_EQ(sum, rows);
    }
  }
  EXPECT_EQ(RowsOfRank(11, 2, 4), 3);
  EXPECT_EQ(RowsOfRank(11, 3, 4), 2);
}

/// Both operations on the same values: every rank's rows have the bits that Allreduce gives them.
void ExpectRowsOfAllreduce(Engine& engine, DType dtype, const Shape& shape,
                           const ReduceOptions& options) {
  const std::string name = std::string(Name(dtype)) + shape.ToString();
  const auto in = TestValues(dtype, static_cast<std::size_t>(shape.elements()), engine.rank(), 7);
  std::vector<std::byte> all(in.size());
  engine.Wait(engine.Allreduce("whole " + name, {in.data(), dtype, shape},
                               {all.data(), dtype, shape}, options));
  Result result;
  engine.Wait(
      engine.Reducescatter("parts " + name, {in.data(), dtype, shape}, result.For(dtype), options));
  std::vector<std::int64_t> rows, dims(shape.dims().begin(), shape.dims().end());
  std::int64_t before = 0;
  for (int r = 0; r < engine.size(); ++r) {
    rows.push_back(RowsOfRank(shape[0], r, engine.size()));
    if (r < engine.rank()) before += rows.back();
  }
  dims[0] = rows[static_cast<std::size_t>(engine.rank())];
  EXPECT_EQ(result.rows, rows);
  EXPECT_EQ(result.shape, Shape(std::span<const std::int64_t>(dims)));
  const std::size_t row_bytes = shape[0] == 0 ? 0 : in.size() / static_cast<std::size_t>(shape[0]);
  EXPECT_TRUE(std::ranges::equal(
      result.bytes, std::span(all).subspan(static_cast<std::size_t>(before) * row_bytes,
                                           static_cast<std::size_t>(dims[0]) * row_bytes)))
      << name << " " << Name(options.op) << " on rank " << engine.rank();
}

TEST_P(Reducescatters, EachRankGetsTheBitsOfItsRowsOfAnAllreduce) {
  RunJob(ranks(), [&](Engine& engine) {
    for (const DType dtype : AllDTypes()) {
      for (const ReduceOp op : OpsOf(dtype)) {
        // Fewer rows than ranks, uneven, none at all, no columns; exchanged whole and in chunks.
        for (const Shape& shape :
             {Shape{1}, Shape{7, 3}, Shape{0, 5}, Shape{6, 0}, Shape{103, 77}}) {
          ExpectRowsOfAllreduce(engine, dtype, shape, {.op = op});
        }
      }
    }
  });
}

TEST_P(Reducescatters, ScaleBeforeAndAfter) {
  RunJob(ranks(), [&](Engine& engine) {
    for (const DType dtype : AllDTypes()) {
      if (dtype == DType::kBool) continue;
      ExpectRowsOfAllreduce(engine, dtype, Shape{13, 5},
                            {.op = ReduceOp::kSum, .prescale = 0.3, .postscale = 1.7});
      ExpectRowsOfAllreduce(engine, dtype, Shape{13, 5}, {.prescale = 0.3, .postscale = 1.7});
    }
  });
}

TEST_P(Reducescatters, TensorsOfManyChunks) {
  RunJob(ranks(), [&](Engine& engine) {
    ExpectRowsOfAllreduce(engine, DType::kFloat32, Shape{4001, 1000}, {});
  });
}

TEST_P(Reducescatters, TheSameAgainTakesTheFastPath) {
  RunJob(ranks(), [&](Engine& engine) {
    const EngineGauges& gauges = dynamic_cast<EngineImpl&>(engine).gauges();
    ExpectRowsOfAllreduce(engine, DType::kFloat32, Shape{9, 4}, {});
    const std::uint64_t slow = gauges.slow_rounds;
    for (int step = 0; step < 5; ++step) {
      ExpectRowsOfAllreduce(engine, DType::kFloat32, Shape{9, 4}, {});
    }
    EXPECT_EQ(gauges.slow_rounds, slow);
  });
}

TEST_P(Reducescatters, WhatHasNoRowsOrNoMeaningIsRefusedAndTheEngineGoesOn) {
  RunJob(ranks(), [&](Engine& engine) {
    if (engine.rank() == 0) {
      float value = 0.0f;
      Result result;
      const AllocateOutput allocate = result.For(DType::kFloat32);
      try {
        engine.Reducescatter("x", {&value, DType::kFloat32, Shape{}}, allocate);
        ADD_FAILURE() << "a scalar was accepted";
      } catch (const InvalidArgument& error) {
        EXPECT_THAT(error.what(),
                    HasSubstr("tried to REDUCESCATTER a rank-zero tensor. (tensor 'x'"));
      }
      EXPECT_THROW(engine.Reducescatter("x", {&value, DType::kFloat32, Shape{1}}, nullptr),
                   InvalidArgument);
      EXPECT_THROW(engine.Reducescatter("x", {&value, DType::kBool, Shape{1}}, allocate),
                   InvalidArgument);
      EXPECT_THROW(engine.Reducescatter("x", {&value, DType::kFloat32, Shape{1}}, allocate,
                                        {.op = static_cast<ReduceOp>(2)}),
                   InvalidArgument);
      EXPECT_THROW(engine.Reducescatter("x", {nullptr, DType::kFloat32, Shape{1}}, allocate),
                   InvalidArgument);
    }
    ExpectRowsOfAllreduce(engine, DType::kFloat32, Shape{5, 2}, {});
  });
}

TEST_P(Reducescatters, AFailedAllocationIsThatRanksErrorAlone) {
  RunJob(ranks(), [&](Engine& engine) {
    const bool fails = engine.rank() == 0;
    const std::vector<float> values(10, 1.0f);
    Result result;
    AllocateOutput allocate = result.For(DType::kFloat32);
    if (fails)
      allocate = [](const Shape&, auto) -> void* { throw std::runtime_error("no memory"); };
    const Handle handle = engine.Reducescatter("x", ViewOf(std::span<const float>(values)),
                                               std::move(allocate), {.op = ReduceOp::kSum});
    if (fails) {
      EXPECT_THROW(engine.Wait(handle), std::runtime_error);
    } else {
      EXPECT_NO_THROW(engine.Wait(handle));
      EXPECT_EQ(result.shape, (Shape{RowsOfRank(10, engine.rank(), engine.size())}));
    }
    ExpectRowsOfAllreduce(engine, DType::kFloat32, Shape{5, 2}, {});
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, Reducescatters, testing::ValuesIn(JobSizes()),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace weir
