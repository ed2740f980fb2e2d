// A sparse all-reduce gathers every rank's entries and scales their values.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/coordinator/jobs/job.h"
#include "tests/coordinator/jobs/result.h"
#include "tests/coordinator/jobs/text_of.h"
#include "tests/ops/arrays/reference.h"

namespace weir {
namespace {

using testing::HasSubstr;

class SparseAllreduces : public testing::TestWithParam<int> {
 protected:
  int ranks() const { return GetParam(); }
};

constexpr std::int64_t kWidth = 3;

/// A rank's entries of a table of a few rows, rank r having r of them.
struct Entries {
  std::vector<std::int64_t> indices;
  std::vector<std::byte> values;
  DType dtype;
  Result all_indices, all_values;

  Entries(DType type, int rank) : dtype(type) {
    for (int i = 0; i < rank; ++i) indices.push_back((rank + 2 * i) % 5);
    values = TestValues(type, indices.size() * kWidth, rank, 9);
  }
  std::int64_t count() const { return static_cast<std::int64_t>(indices.size()); }
  Handle Submit(Engine& engine, const std::string& name, const ReduceOptions& options) {
    return engine.SparseAllreduce(
        name,
        {Shape{5, kWidth},
         {{indices.data(), DType::kInt64, Shape{count(), 1}}, all_indices.For(DType::kInt64)},
         {{values.data(), dtype, Shape{count(), kWidth}}, all_values.For(dtype)}},
        options);
  }
};

/// All ranks' entries; a value is what a dense all-reduce makes of it among zeros.
void ExpectAll(Engine& engine, const Entries& found, const ReduceOptions& options) {
  std::vector<std::int64_t> rows;
  std::vector<std::byte> indices, values;
  for (int rank = 0; rank < engine.size(); ++rank) {
    const Entries entries(found.dtype, rank);
    rows.push_back(entries.count());
    const auto bytes = std::as_bytes(std::span(entries.indices));
    indices.insert(indices.end(), bytes.begin(), bytes.end());
    values.insert(values.end(), entries.values.begin(), entries.values.end());
  }
  TestArrays arrays(static_cast<std::size_t>(engine.size()), std::vector<std::byte>(values.size()));
  arrays.back() = values;
  values = ReferenceReduce(found.dtype, {options.op, options.prescale, options.postscale}, arrays);
  EXPECT_EQ(found.all_indices.rows, rows);
  EXPECT_EQ(found.all_values.rows, rows);
  EXPECT_TRUE(found.all_indices.bytes == indices);
  EXPECT_TRUE(found.all_values.bytes == values)
      << Name(found.dtype) << " " << Name(options.op) << " over " << engine.size() << " ranks";
}

TEST_P(SparseAllreduces, GiveAllRanksEntriesScaledAsIfEachWereAmongZeros) {
  RunJob(ranks(), [](Engine& engine) {
    for (const DType dtype : AllDTypes()) {
      if (dtype == DType::kBool) continue;
      for (const ReduceOptions& options :
           {ReduceOptions{.op = ReduceOp::kSum}, ReduceOptions{.op = ReduceOp::kAverage},
            ReduceOptions{.op = ReduceOp::kAverage, .prescale = 0.3, .postscale = 1.7}}) {
        for (int round = 0; round < 2; ++round) {
          Entries entries(dtype, engine.rank());
          engine.Wait(entries.Submit(engine, "sparse", options));
          ExpectAll(engine, entries, options);
        }
      }
    }
  });
}

TEST_P(SparseAllreduces, MayChangeTheNumberOfEntriesOfSomeRanksOnly) {
  RunJob(ranks(), [](Engine& engine) {
    const int last = engine.size() - 1;
    for (const int more : {0, 0, 3, 3, 0, 1}) {  // The others ask for the same every time.
      Entries entries(DType::kFloat32, engine.rank() == last ? last + more : engine.rank());
      engine.Wait(entries.Submit(engine, "s", {.op = ReduceOp::kSum}));
      std::vector<std::int64_t> rows;
      for (int rank = 0; rank <= last; ++rank) rows.push_back(rank == last ? last + more : rank);
      EXPECT_EQ(entries.all_values.rows, rows);
      const Entries of_last(DType::kFloat32, last + more);
      const auto& all = entries.all_values.bytes;
      EXPECT_TRUE(std::equal(of_last.values.rbegin(), of_last.values.rend(), all.rbegin()));
    }
  });
}

TEST_P(SparseAllreduces, ThatDifferAreRefusedEverywhereAndTheJobGoesOn) {
  if (ranks() == 1) return;  // Nobody to differ from.
  RunJob(ranks(), [](Engine& engine) {
    const bool odd = engine.rank() == engine.size() - 1;
    Entries entries(DType::kFloat32, engine.rank());
    const auto mismatch = [&](const ReduceOptions& options) {
      return TextOf<Mismatch>([&] { engine.Wait(entries.Submit(engine, "s", options)); });
    };
    EXPECT_THAT(mismatch({.op = odd ? ReduceOp::kSum : ReduceOp::kAverage}),
                HasSubstr("Mismatched reduction operation: One rank sent reduction op 0, but "
                          "another rank sent reduction op 1. (tensor 's'"));
    EXPECT_THAT(mismatch({.prescale = odd ? 2.0 : 1.0}), HasSubstr("Mismatched prescale"));
    Entries other(odd ? DType::kFloat64 : DType::kFloat32, engine.rank());
    EXPECT_THAT(TextOf<Mismatch>([&] { engine.Wait(other.Submit(engine, "s", {})); }),
                HasSubstr("but another rank had type float64. (tensor 's.values'"));
    float value = 1.0f;
    std::int64_t index = 0;
    Result result;
    EXPECT_EQ(TextOf<Mismatch>([&] {
                engine.Wait(engine.SparseAllreduce(
                    "s", {Shape{odd ? 6 : 5},
                          {{&index, DType::kInt64, Shape{1, 1}}, result.For(DType::kInt64)},
                          {{&value, DType::kFloat32, Shape{1}}, result.For(DType::kFloat32)}}));
              }),
              "Mismatched SPARSE_ALLREDUCE tensor shapes: One rank sent a tensor of shape [5], but "
              "another rank sent a tensor of shape [6]. (tensor 's': rank 0 has [5], rank " +
                  std::to_string(engine.size() - 1) + " has [6])");
    EXPECT_NO_THROW(engine.Wait(entries.Submit(engine, "s", {})));
  });
}

TEST_P(SparseAllreduces, ThatCannotBeMeantAreRefusedWhereTheyAreSubmitted) {
  RunJob(ranks(), [](Engine& engine) {
    const std::int64_t indices[2] = {0, 1};
    const float values[4] = {1.0f, 2.0f, 3.0f, 4.0f};
    Result result;
    const auto answer = [&](const Shape& whole, DType index_type, const Shape& index_shape,
                            const Shape& value_shape, const ReduceOptions& options = {}) {
      return TextOf<InvalidArgument>([&] {
        engine.Wait(engine.SparseAllreduce(
            "s",
            {whole,
             {{indices, index_type, index_shape}, result.For(DType::kInt64)},
             {{values, DType::kFloat32, value_shape}, result.For(DType::kFloat32)}},
            options));
      });
    };
    constexpr DType kIndex = DType::kInt64;
    EXPECT_THAT(answer({5, 2}, DType::kInt32, {2, 1}, {2, 2}),
                HasSubstr("the sparse tensor 's' of shape [5, 2] has indices int32 [2, 1] and "
                          "values float32 [2, 2]; give indices of type int64"));
    EXPECT_THAT(answer({5, 2}, kIndex, {2, 1}, {1, 2}), HasSubstr("values float32 [1, 2];"));
    EXPECT_THAT(answer({5, 3}, kIndex, {2, 1}, {2, 2}), HasSubstr("of shape [5, 3]"));
    EXPECT_THAT(answer({5, 2}, kIndex, {2}, {2, 2}), HasSubstr("indices int64 [2]"));
    EXPECT_THAT(answer({5}, kIndex, {1, 2}, {1}), HasSubstr("of shape [5]"));
    EXPECT_THAT(answer({5, 2}, kIndex, {2, 1}, {}), HasSubstr("a rank-zero tensor"));
    for (const ReduceOp op :
         {ReduceOp::kMin, ReduceOp::kMax, ReduceOp::kProduct, ReduceOp::kAdasum}) {
      EXPECT_THAT(answer({5, 2}, kIndex, {2, 1}, {2, 2}, {.op = op}),
                  HasSubstr("sparse tensors are combined by sum or average, not by " +
                            std::string(Name(op))));
    }
    EXPECT_EQ(answer({5, 2}, kIndex, {2, 1}, {2, 2}), "nothing was thrown");
    EXPECT_EQ(answer({5, 2}, kIndex, {1, 2}, {1}), "nothing was thrown");
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, SparseAllreduces, testing::ValuesIn(JobSizes()),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace weir
