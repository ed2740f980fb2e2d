// Grouped all-gathers and reduce-scatters equal several of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <stdexcept>
#include <string>
#include <vector>

#include "coordinator/engine/engine_impl.h"
#include "ops/grouped/fused_runs.h"
#include "tests/coordinator/jobs/job.h"
#include "tests/coordinator/jobs/result.h"
#include "tests/coordinator/jobs/text_of.h"
#include "tests/ops/arrays/reference.h"

namespace weir::grouped_rows_test {
namespace {

using testing::HasSubstr;

enum class Kind { kGather, kScatter };

class GroupedRows : public testing::TestWithParam<std::tuple<int, Kind>> {
 protected:
  int ranks() const { return std::get<0>(GetParam()); }
  static Kind kind() { return std::get<1>(GetParam()); }
};

const ReduceOptions kSum = {.op = ReduceOp::kSum, .prescale = 2.0};

Handle Submit(Engine& engine, Kind kind, const std::string& name,
              const std::vector<Engine::RowsTensor>& tensors) {
  return kind == Kind::kGather ? engine.GroupedAllgather(name, tensors)
                               : engine.GroupedReducescatter(name, tensors, kSum);
}

Handle SubmitAlone(Engine& engine, Kind kind, const std::string& name,
                   const Engine::RowsTensor& tensor) {
  return kind == Kind::kGather ? engine.Allgather(name, tensor.in, tensor.allocate)
                               : engine.Reducescatter(name, tensor.in, tensor.allocate, kSum);
}

/// Tensors of a rank, and room for their results.
class Group {
 public:
  Group(Kind kind, int rank) : kind_(kind), rank_(rank) {}

  /// In all-gathers the ranks give different numbers of rows, some of them none.
  void Add(DType dtype, Shape shape) {
    if (kind_ == Kind::kGather) {
      std::vector<std::int64_t> dims(shape.dims().begin(), shape.dims().end());
      dims[0] *= (rank_ + 1) % 3;
      shape = Shape(std::span<const std::int64_t>(dims));
    }
    AddExactly(dtype, shape);
  }
  void AddExactly(DType dtype, const Shape& shape) {
    const auto elements = static_cast<std::size_t>(shape.elements());
    values_.push_back(TestValues(dtype, elements, rank_, static_cast<std::uint32_t>(size())));
    views_.push_back({values_.back().data(), dtype, shape});
    results_.emplace_back();
  }
  std::size_t size() const { return views_.size(); }
  std::vector<Engine::RowsTensor> tensors() {
    std::vector<Engine::RowsTensor> all;
    for (std::size_t i = 0; i < size(); ++i) {
      all.push_back({views_[i], results_[i].For(views_[i].dtype)});
    }
    return all;
  }
  const Result& result(std::size_t i) const { return results_[i]; }

 private:
  Kind kind_;
  int rank_;
  std::deque<std::vector<std::byte>> values_;
  std::vector<ConstTensorView> views_;
  std::deque<Result> results_;
};

void ExpectEqual(const Result& found, const Result& expected, const std::string& what) {
  EXPECT_EQ(found.shape, expected.shape) << what;
  EXPECT_EQ(found.rows, expected.rows) << what;
  EXPECT_TRUE(found.bytes == expected.bytes) << what;
}

TEST_P(GroupedRows, GiveTheBitsOfOneOperationForEachTensor) {
  RunJob(ranks(), [](Engine& engine) {
    Group group(kind(), engine.rank());
    for (const DType dtype : {DType::kFloat32, DType::kInt64, DType::kBFloat16}) {
      const auto small = static_cast<std::int64_t>(FusedRuns::kSmallBytes / SizeOf(dtype));
      for (const Shape& shape :
           {Shape{1}, Shape{7, 3}, Shape{0, 5}, Shape{6, 0}, Shape{11, 2, 2}, Shape{small}}) {
        group.Add(dtype, shape);
      }
      for (int i = 0; i < 30; ++i) group.Add(dtype, Shape{small / 4 - i, 2});
      group.Add(dtype, Shape{5, small});
    }
    const auto tensors = group.tensors();
    for (int round = 0; round < 3; ++round) {  // By name first, then by slot.
      engine.Wait(Submit(engine, kind(), "group", tensors));
      for (std::size_t i = 0; i < tensors.size(); ++i) {
        Result expected;
        engine.Wait(SubmitAlone(engine, kind(), "alone",
                                {tensors[i].in, expected.For(tensors[i].in.dtype)}));
        ExpectEqual(group.result(i), expected,
                    "tensor " + std::to_string(i) + " in round " + std::to_string(round));
      }
    }
  });
}

TEST_P(GroupedRows, TheSameAgainTakesTheFastPathAndSmallOnesTravelTogether) {
  RunJob(ranks(), [](Engine& engine) {
    constexpr std::uint64_t kTensors = 40, kTimes = 10;
    Group group(kind(), engine.rank());
    for (std::uint64_t i = 0; i < kTensors; ++i) group.AddExactly(DType::kFloat32, Shape{8, 2});
    const auto tensors = group.tensors();
    engine.Wait(Submit(engine, kind(), "group", tensors));  // Has a slot from here on.
    engine.Wait(engine.Barrier());
    const EngineGauges& gauges = dynamic_cast<EngineImpl&>(engine).gauges();
    const std::uint64_t slow = gauges.slow_rounds;
    const std::uint64_t before = engine.network_totals().sent_messages;
    for (std::uint64_t i = 0; i < kTimes; ++i) {
      engine.Wait(Submit(engine, kind(), "group", tensors));
    }
    EXPECT_EQ(gauges.slow_rounds, slow);
    // Rounds of negotiation send too, but not as much as half of the tensors would.
    const std::uint64_t sent = engine.network_totals().sent_messages - before;
    EXPECT_LE(sent, kTimes * kTensors / 2 * static_cast<std::uint64_t>(engine.size() - 1));
  });
}

TEST_P(GroupedRows, OfWhichSomeRanksChangeTheRowsAgreeAgain) {
  if (kind() == Kind::kScatter) return;  // There all ranks have the same rows.
  RunJob(ranks(), [](Engine& engine) {
    const bool changes = engine.rank() == engine.size() - 1;
    for (const std::int64_t rows : {2, 2, 5, 5, 2, 0}) {
      Group group(kind(), engine.rank());
      for (int i = 0; i < 2; ++i) group.AddExactly(DType::kFloat32, Shape{changes ? rows : 2, 3});
      const auto tensors = group.tensors();
      engine.Wait(Submit(engine, kind(), "group", tensors));
      std::vector<std::int64_t> expected(static_cast<std::size_t>(engine.size()), 2);
      expected.back() = rows;
      for (std::size_t i = 0; i < 2; ++i) {
        EXPECT_EQ(group.result(i).rows, expected);
        Result alone;
        engine.Wait(
            SubmitAlone(engine, kind(), "alone", {tensors[i].in, alone.For(DType::kFloat32)}));
        ExpectEqual(group.result(i), alone, std::to_string(rows) + " rows");
      }
    }
  });
}

TEST_P(GroupedRows, ThatDifferAreRefusedEverywhereAndTheJobGoesOn) {
  if (ranks() == 1) return;  // Nobody to differ from.
  RunJob(ranks(), [](Engine& engine) {
    const bool odd = engine.rank() == engine.size() - 1;
    const std::string last = std::to_string(engine.size() - 1);
    const auto mismatch = [&](Group& group) {
      return TextOf<Mismatch>(
          [&] { engine.Wait(Submit(engine, kind(), "group", group.tensors())); });
    };
    Group wider(kind(), engine.rank());
    wider.AddExactly(DType::kFloat32, Shape{2});
    wider.AddExactly(DType::kFloat32, Shape{2, odd ? 4 : 3});
    EXPECT_THAT(mismatch(wider), HasSubstr("(tensor 'group[1]': rank 0 has "));
    Group other(kind(), engine.rank());
    other.AddExactly(odd ? DType::kFloat64 : DType::kFloat32, Shape{2});
    EXPECT_THAT(mismatch(other), HasSubstr("Mismatched data types: One rank had type float32"));
    Group longer(kind(), engine.rank());
    for (int i = 0; i < (odd ? 3 : 2); ++i) longer.AddExactly(DType::kFloat32, Shape{2});
    EXPECT_THAT(mismatch(longer), HasSubstr("rank 0 has a group of 2 tensors, rank " + last +
                                            " has a group of 3 tensors"));
    Group fine(kind(), engine.rank());
    fine.AddExactly(DType::kFloat32, Shape{2});
    EXPECT_NO_THROW(engine.Wait(Submit(engine, kind(), "group", fine.tensors())));
  });
}

TEST_P(GroupedRows, ThatCannotBeMeantAreRefusedAndNothingIsSubmitted) {
  RunJob(ranks(), [](Engine& engine) {
    EXPECT_THAT(TextOf<InvalidArgument>([&] { Submit(engine, kind(), "none", {}); }),
                HasSubstr("has no tensors"));
    EXPECT_THAT(TextOf<InvalidArgument>([&] { Submit(engine, kind(), "", {}); }),
                HasSubstr("needs a name"));
    Group group(kind(), engine.rank());
    for (int i = 0; i < 2; ++i) group.AddExactly(DType::kFloat32, Shape{2});
    auto tensors = group.tensors();
    tensors[1].in.data = nullptr;
    EXPECT_THAT(TextOf<InvalidArgument>([&] { Submit(engine, kind(), "g", tensors); }),
                HasSubstr("'g[1]' is null"));
    tensors = group.tensors();
    tensors[1].allocate = nullptr;
    EXPECT_THAT(TextOf<InvalidArgument>([&] { Submit(engine, kind(), "g", tensors); }),
                HasSubstr("'g[1]' needs a function"));
    tensors = group.tensors();
    tensors[1].in.shape = Shape{};
    // All ranks of an all-gather are told together.
    EXPECT_THAT(TextOf<Error>([&] { engine.Wait(Submit(engine, kind(), "g", tensors)); }),
                HasSubstr("a rank-zero tensor. (tensor 'g[1]'"));
    EXPECT_NO_THROW(engine.Wait(Submit(engine, kind(), "g", group.tensors())));
  });
}

TEST_P(GroupedRows, AFailedAllocationIsThatRanksErrorAlone) {
  RunJob(ranks(), [](Engine& engine) {
    Group group(kind(), engine.rank());
    for (int i = 0; i < 3; ++i) group.AddExactly(DType::kFloat32, Shape{6});
    group.AddExactly(DType::kFloat32, Shape{100'000});
    auto tensors = group.tensors();
    const bool fails = engine.rank() == 0;
    if (fails) {
      for (const std::size_t i : {1u, 3u}) {  // One that is fused, and one that is not.
        tensors[i].allocate = [](const Shape&, auto) -> void* {
          throw std::runtime_error("no memory");
        };
      }
    }
    const Handle handle = Submit(engine, kind(), "g", tensors);
    if (fails) {
      EXPECT_EQ(TextOf<std::runtime_error>([&] { engine.Wait(handle); }), "no memory");
    } else {
      EXPECT_NO_THROW(engine.Wait(handle));
    }
    std::vector<Result> first;
    for (std::size_t i = 0; i < group.size(); ++i) first.push_back(group.result(i));
    EXPECT_NO_THROW(engine.Wait(Submit(engine, kind(), "g", group.tensors())));
    for (std::size_t i = 0; i < group.size() && !fails; ++i) {
      ExpectEqual(first[i], group.result(i), "tensor " + std::to_string(i));
    }
  });
}

TEST_P(GroupedRows, MayBeOfASet) {
  if (ranks() == 1) return;  // There is no set but the whole job.
  RunJob(ranks(), [](Engine& engine) {
    std::vector<int> members;
    for (int rank = 1; rank < engine.size(); ++rank) members.push_back(rank);
    const int set = engine.AddProcessSet(members);
    if (engine.rank() == 0) return;
    Group group(kind(), engine.rank());
    for (int i = 0; i < 3; ++i) group.Add(DType::kInt64, Shape{3 + i});
    group.Add(DType::kInt64, Shape{20'000});
    const auto tensors = group.tensors();
    const ReduceOptions sum{.op = ReduceOp::kSum, .process_set = set};
    engine.Wait(kind() == Kind::kGather ? engine.GroupedAllgather("g", tensors, nullptr, set)
                                        : engine.GroupedReducescatter("g", tensors, sum));
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      Result expected;
      const AllocateOutput allocate = expected.For(DType::kInt64);
      engine.Wait(kind() == Kind::kGather
                      ? engine.Allgather("alone", tensors[i].in, allocate, nullptr, set)
                      : engine.Reducescatter("alone", tensors[i].in, allocate, sum));
      ExpectEqual(group.result(i), expected, "tensor " + std::to_string(i));
      EXPECT_EQ(group.result(i).rows.size(), members.size());
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, GroupedRows,
                         testing::Combine(testing::ValuesIn(JobSizes()),
                                          testing::Values(Kind::kGather, Kind::kScatter)),
                         [](const auto& test) {
                           return std::to_string(std::get<0>(test.param)) +
                                  (std::get<1>(test.param) == Kind::kGather ? "Gather" : "Scatter");
                         });

}  // namespace
}  // namespace weir::grouped_rows_test
