// Rows for every rank: results, refusals, and what others notice of a rank that fails.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <iostream>
#include <numeric>
#include <random>
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
using Splits = std::vector<std::int64_t>;

class Alltoalls : public testing::TestWithParam<int> {
 protected:
  int ranks() const { return GetParam(); }
};

/// Exchanges TestValues of `shape` and compares with what all ranks, whose splits are given, send
/// to this one. Shapes differ in the first dimension: rank r has rows[r].
void ExpectExchanged(Engine& engine, const std::string& name, DType dtype, const Splits& rows,
                     std::int64_t columns, const std::vector<Splits>& splits,
                     std::uint32_t salt = 0) {
  const std::size_t row_bytes = static_cast<std::size_t>(columns) * SizeOf(dtype);
  const auto self = static_cast<std::size_t>(engine.rank());
  std::vector<std::byte> in, expected;
  Splits expected_rows;
  for (std::size_t r = 0; r < splits.size(); ++r) {
    const auto values =
        TestValues(dtype, static_cast<std::size_t>(rows[r] * columns), static_cast<int>(r), salt);
    if (r == self) in = values;
    const auto before = std::accumulate(
        splits[r].begin(), splits[r].begin() + static_cast<std::ptrdiff_t>(self), std::int64_t{0});
    const auto part =
        std::span(values).subspan(static_cast<std::size_t>(before) * row_bytes,
                                  static_cast<std::size_t>(splits[r][self]) * row_bytes);
    expected.insert(expected.end(), part.begin(), part.end());
    expected_rows.push_back(splits[r][self]);
  }
  Result result;
  engine.Wait(engine.Alltoall(name, {in.data(), dtype, Shape{rows[self], columns}}, splits[self],
                              result.For(dtype)));
  EXPECT_TRUE(result.bytes == expected) << Name(dtype) << " on rank " << self;
  EXPECT_EQ(result.rows, expected_rows);
  EXPECT_EQ(result.shape,
            (Shape{std::accumulate(expected_rows.begin(), expected_rows.end(), std::int64_t{0}),
                   columns}));
}

TEST_P(Alltoalls, WithoutSplitsEachRankGetsAsMany) {
  RunJob(ranks(), [&](Engine& engine) {
    constexpr int kEach = 3;
    std::vector<std::int32_t> rows(static_cast<std::size_t>(kEach * ranks()));
    std::iota(rows.begin(), rows.end(), 1000 * engine.rank());
    Result result;
    engine.Wait(engine.Alltoall("even", ViewOf(std::span<const std::int32_t>(rows)), {},
                                result.For(DType::kInt32)));
    std::vector<std::int32_t> expected;
    for (int r = 0; r < ranks(); ++r) {
      for (int i = 0; i < kEach; ++i) expected.push_back(1000 * r + kEach * engine.rank() + i);
    }
    const auto bytes = std::as_bytes(std::span(expected));
    EXPECT_TRUE(std::ranges::equal(result.bytes, bytes));
    EXPECT_EQ(result.rows, Splits(static_cast<std::size_t>(ranks()), kEach));
  });
}

TEST_P(Alltoalls, AnySplitsOfAnyTypeAlsoWhenRowsStayUnsent) {
  RunJob(ranks(), [&](Engine& engine) {
    const std::uint32_t seed = Common(engine, std::random_device()());
    if (engine.rank() == 0) std::cout << "seed " << seed << "\n";
    std::mt19937 random(seed);
    for (int round = 0; round < 4; ++round) {
      for (const DType dtype : AllDTypes()) {
        Splits rows;
        std::vector<Splits> splits;
        for (int r = 0; r < ranks(); ++r) {
          Splits& mine = splits.emplace_back();
          for (int to = 0; to < ranks(); ++to) {
            mine.push_back(random() % 3 == 0 ? 0 : static_cast<std::int64_t>(random() % 40));
          }
          const auto unsent = static_cast<std::int64_t>(random() % 3);
          rows.push_back(std::accumulate(mine.begin(), mine.end(), unsent));
        }
        ExpectExchanged(engine, "x" + std::string(Name(dtype)), dtype, rows, 1 + round, splits,
                        seed);
      }
    }
  });
}

TEST_P(Alltoalls, TensorsOfManyChunks) {
  RunJob(ranks(), [&](Engine& engine) {
    const auto n = static_cast<std::size_t>(ranks());
    std::vector<Splits> splits(n, Splits(n));
    Splits rows(n);
    for (std::size_t r = 0; r < n; ++r) {
      for (std::size_t to = 0; to < n; ++to) {
        splits[r][to] = static_cast<std::int64_t>(1000 + 500 * r + 3000 * to);
      }
      rows[r] = std::accumulate(splits[r].begin(), splits[r].end(), std::int64_t{0});
    }
    ExpectExchanged(engine, "large", DType::kFloat32, rows, 250, splits);
  });
}

TEST_P(Alltoalls, OfNothing) {
  RunJob(ranks(), [&](Engine& engine) {
    const auto n = static_cast<std::size_t>(ranks());
    const std::vector<Splits> none(n, Splits(n, 0)), one(n, Splits(n, 1));
    ExpectExchanged(engine, "no rows", DType::kFloat32, Splits(n, 0), 3, none);
    ExpectExchanged(engine, "no rows sent", DType::kFloat32, Splits(n, 5), 3, none);
    ExpectExchanged(engine, "no columns", DType::kFloat32, Splits(n, ranks()), 0, one);
    Result result;
    engine.Wait(engine.Alltoall("null", {nullptr, DType::kInt8, Shape{0, 4}}, {},
                                result.For(DType::kInt8)));
    EXPECT_EQ(result.shape, (Shape{0, 4}));
  });
}

TEST_P(Alltoalls, TheSameSplitsTakeTheFastPathAndOthersAreAgreedOnAgain) {
  RunJob(ranks(), [&](Engine& engine) {
    const EngineGauges& gauges = dynamic_cast<EngineImpl&>(engine).gauges();
    const auto n = static_cast<std::size_t>(ranks());
    std::vector<Splits> splits(n, Splits(n, 2));
    const Splits rows(n, 2 * ranks());
    const auto exchange = [&] { ExpectExchanged(engine, "again", DType::kInt16, rows, 2, splits); };
    exchange();
    std::uint64_t slow = gauges.slow_rounds;
    for (int step = 0; step < 5; ++step) exchange();
    EXPECT_EQ(gauges.slow_rounds, slow);
    splits[n - 1][0] = 1;  // One rank changes its mind.
    exchange();
    EXPECT_GT(gauges.slow_rounds, slow);
    slow = gauges.slow_rounds;
    for (int step = 0; step < 5; ++step) exchange();
    EXPECT_EQ(gauges.slow_rounds, slow);
  });
}

/// Error of a rank that submits this.
std::string Refusal(Engine& engine, const Shape& shape, const Splits& splits) {
  std::vector<float> values(64);
  Result result;
  try {
    engine.Alltoall("x", {values.data(), DType::kFloat32, shape}, splits,
                    result.For(DType::kFloat32));
  } catch (const InvalidArgument& error) {
    EXPECT_EQ(error.context().tensor, "x");
    EXPECT_EQ(error.context().ranks, std::vector<int>{engine.rank()});
    return error.what();
  }
  return "accepted";
}

TEST_P(Alltoalls, WrongSplitsAreRefusedWhereTheyAreGivenAndTheEngineGoesOn) {
  RunJob(ranks(), [&](Engine& engine) {
    const auto n = static_cast<std::size_t>(ranks());
    const std::string of_rank = " (tensor 'x': rank " + std::to_string(engine.rank()) + " has ";
    const std::string for_ranks = " for " + std::to_string(n) + " ranks)";
    if (engine.rank() == ranks() - 1) {
      if (n > 1) {
        EXPECT_EQ(Refusal(engine, Shape{ranks() + 1, 2}, {}),
                  "splits not provided, but first dimension of tensor is not an even multiple of "
                  "the number of workers." +
                      of_rank + std::to_string(n + 1) + " rows" + for_ranks);
      }
      EXPECT_EQ(Refusal(engine, Shape{8, 2}, Splits(n + 1, 1)),
                "Number of entries in splits does not equal number of workers." + of_rank +
                    std::to_string(n + 1) + " splits" + for_ranks);
      Splits splits(n, 0);
      splits[0] = 9;
      EXPECT_EQ(Refusal(engine, Shape{8, 2}, splits),
                "Sum of splits entries is greater than the first dimension of tensor." + of_rank +
                    "splits for 9 of 8 rows)");
      splits.assign(n, std::numeric_limits<std::int64_t>::max());
      EXPECT_THAT(Refusal(engine, Shape{8, 2}, splits), HasSubstr("Sum of splits entries"));
      splits.assign(n, 0);
      splits.back() = -1;
      EXPECT_EQ(Refusal(engine, Shape{8, 2}, splits), "An entry in splits is negative." + of_rank +
                                                          "-1 rows for rank " +
                                                          std::to_string(n - 1) + ")");
      EXPECT_THAT(Refusal(engine, Shape{}, {}), HasSubstr("tried to ALLTOALL a rank-zero tensor."));
      const std::vector<float> values(8);
      EXPECT_THROW(engine.Alltoall("x", ViewOf(std::span<const float>(values)), {}, nullptr),
                   InvalidArgument);
    }
    ExpectExchanged(engine, "x", DType::kFloat32, Splits(n, ranks()), 2,
                    std::vector<Splits>(n, Splits(n, 1)));
  });
}

TEST_P(Alltoalls, AFailedAllocationIsThatRanksErrorAlone) {
  RunJob(ranks(), [&](Engine& engine) {
    const auto n = static_cast<std::size_t>(ranks());
    const std::vector<std::int64_t> values(2 * n, engine.rank());
    const bool fails = engine.rank() == ranks() - 1;
    Result result;
    for (const bool throws : {true, false}) {
      AllocateOutput allocate = result.For(DType::kInt64);
      if (fails) {
        allocate = [&](const Shape&, auto) -> void* {
          if (throws) throw std::runtime_error("out of memory");
          return nullptr;
        };
      }
      const Handle handle = engine.Alltoall("x", {values.data(), DType::kInt64, Shape{ranks(), 2}},
                                            {}, std::move(allocate));
      if (!fails) {
        EXPECT_NO_THROW(engine.Wait(handle));
        EXPECT_EQ(result.shape, (Shape{ranks(), 2}));
      } else if (throws) {
        EXPECT_THROW(engine.Wait(handle), std::runtime_error);
      } else {
        try {
          engine.Wait(handle);
          ADD_FAILURE() << "no memory was enough";
        } catch (const InvalidArgument& error) {
          EXPECT_THAT(error.what(),
                      HasSubstr("no memory was given for the result of ALLTOALL 'x', "));
        }
      }
    }
    ExpectExchanged(engine, "x", DType::kInt64, Splits(n, ranks()), 2,
                    std::vector<Splits>(n, Splits(n, 1)));
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, Alltoalls, testing::ValuesIn(JobSizes()),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace weir
