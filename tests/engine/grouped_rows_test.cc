// Grouped all-gathers and reduce-scatters are several of them as one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <stdexcept>
#include <string>
#include <vector>

#include "coordinator/engine_impl.h"
#include "ops/fused_runs.h"
#include "tests/engine/job.h"
#include "tests/engine/result.h"
#include "tests/engine/text_of.h"
#include "tests/ops/reference.h"

namespace weir {
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

  /// Of all-gathers the ranks give different numbers of rows, some of them none.
  void Add(DType dtype, Shape shape) {
    if (kind_ == Kind::kGather) {
      std::vector<std::int64_t> dims(shape.dims().begin(), shape.dims().end());
      dims[0] = dims[0] * (rank_ % 3) / 2;
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
    Group many(kind(), engine.rank()), one(kind(), engine.rank());
    for (int i = 0; i < 40; ++i) many.AddExactly(DType::kFloat32, Shape{8, 2});
    one.AddExactly(DType::kFloat32, Shape{8, 2});
    const auto messages = [&engine](Group& group, const std::string& name) {
      const auto tensors = group.tensors();
      engine.Wait(Submit(engine, kind(), name, tensors));  // Has a slot from here on.
      engine.Wait(engine.Barrier());
      const std::uint64_t before = engine.network_totals().sent_messages;
      for (int i = 0; i < 5; ++i) engine.Wait(Submit(engine, kind(), name, tensors));
      return engine.network_totals().sent_messages - before;
    };
    const EngineGauges& gauges = dynamic_cast<EngineImpl&>(engine).gauges();
    messages(one, "one");
    const std::uint64_t of_many = messages(many, "many");
    const std::uint64_t slow = gauges.slow_rounds;
    engine.Wait(Submit(engine, kind(), "many", many.tensors()));
    EXPECT_EQ(gauges.slow_rounds, slow);
    // Rounds of negotiation may differ in number; one exchange for each tensor would be 40 times 5.
    EXPECT_LT(of_many, 40u * 5u * static_cast<std::uint64_t>(engine.size() - 1) + 1);
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
    // Of an all-gather all ranks are told together.
    EXPECT_THAT(TextOf<Error>([&] { engine.Wait(Submit(engine, kind(), "g", tensors)); }),
                HasSubstr("a rank-zero tensor. (tensor 'g[1]'"));
    EXPECT_NO_THROW(engine.Wait(Submit(engine, kind(), "g", group.tensors())));
  });
}

TEST_P(GroupedRows, AFailedAllocationIsThatRanksErrorAlone) {
  RunJob(ranks(), [](Engine& engine) {
    Group group(kind(), engine.rank());
    for (int i = 0; i < 3; ++i) group.AddExactly(DType::kFloat32, Shape{6});
    auto tensors = group.tensors();
    const bool fails = engine.rank() == 0;
    if (fails) {
      tensors[1].allocate = [](const Shape&, auto) -> void* {
        throw std::runtime_error("no memory");
      };
    }
    const Handle handle = Submit(engine, kind(), "g", tensors);
    if (fails) {
      EXPECT_EQ(TextOf<std::runtime_error>([&] { engine.Wait(handle); }), "no memory");
    } else {
      EXPECT_NO_THROW(engine.Wait(handle));
    }
    EXPECT_NO_THROW(engine.Wait(Submit(engine, kind(), "g", group.tensors())));
  });
}

TEST_P(GroupedRows, MayBeOfASet) {
  if (ranks() == 1) return;  // There is no set but the whole job.
  RunJob(ranks(), [](Engine& engine) {
    const int set = engine.AddProcessSet(std::vector<int>{engine.size() - 1});
    if (engine.rank() != engine.size() - 1) return;
    Group group(kind(), engine.rank());
    group.AddExactly(DType::kInt64, Shape{3});
    const auto tensors = group.tensors();
    engine.Wait(kind() == Kind::kGather
                    ? engine.GroupedAllgather("g", tensors, nullptr, set)
                    : engine.GroupedReducescatter("g", tensors,
                                                  {.op = ReduceOp::kSum, .process_set = set}));
    EXPECT_EQ(group.result(0).rows, (std::vector<std::int64_t>{3}));
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
}  // namespace weir
