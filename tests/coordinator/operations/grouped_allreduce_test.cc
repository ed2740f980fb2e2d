// A grouped all-reduce equals several all-reduces.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ops/grouped/fused_runs.h"
#include "tests/coordinator/jobs/job.h"
#include "tests/coordinator/jobs/text_of.h"
#include "tests/ops/arrays/reference.h"

namespace weir {
namespace {

using testing::HasSubstr;

class GroupedAllreduces : public testing::TestWithParam<int> {
 protected:
  int ranks() const { return GetParam(); }
};

/// One tensor of a rank, and room for its result.
struct Member {
  DType dtype;
  Shape shape;
  std::vector<std::byte> in;
  std::vector<std::byte> out;

  Member(DType t, Shape s, int rank, std::uint32_t seed)
      : dtype(t),
        shape(s),
        in(TestValues(t, static_cast<std::size_t>(s.elements()), rank, seed)),
        out(in.size()) {}
  Engine::ReduceTensor tensor() { return {{in.data(), dtype, shape}, {out.data(), dtype, shape}}; }
};

/// Every type in sizes that are fused, that fill more than one fused array, and that travel alone.
std::vector<Member> Members(int rank) {
  std::vector<Member> members;
  std::uint32_t seed = 1;
  for (const DType dtype : {DType::kFloat32, DType::kInt64, DType::kFloat16, DType::kBFloat16}) {
    const auto small = static_cast<std::int64_t>(FusedRuns::kSmallBytes / SizeOf(dtype));
    for (const std::int64_t n : {std::int64_t{0}, std::int64_t{1}, std::int64_t{7}, small}) {
      members.emplace_back(dtype, Shape{n}, rank, seed++);
    }
    for (int i = 0; i < 18; ++i) members.emplace_back(dtype, Shape{small - i, 1}, rank, seed++);
    members.emplace_back(dtype, Shape{3, small}, rank, seed++);
  }
  return members;
}

std::vector<Engine::ReduceTensor> TensorsOf(std::vector<Member>& members) {
  std::vector<Engine::ReduceTensor> tensors;
  for (Member& member : members) tensors.push_back(member.tensor());
  return tensors;
}

TEST_P(GroupedAllreduces, GiveTheBitsOfOneAllreduceForEachTensor) {
  RunJob(ranks(), [](Engine& engine) {
    std::vector<Member> members = Members(engine.rank());
    const auto tensors = TensorsOf(members);
    const ReduceOptions options{.op = ReduceOp::kSum, .prescale = 2.0};
    for (int round = 0; round < 3; ++round) {  // By name first, then by slot.
      engine.Wait(engine.GroupedAllreduce("group", tensors, options));
      for (std::size_t i = 0; i < members.size(); ++i) {
        Member& member = members[i];
        std::vector<std::byte> expected(member.in.size());
        engine.Wait(engine.Allreduce("alone", {member.in.data(), member.dtype, member.shape},
                                     {expected.data(), member.dtype, member.shape}, options));
        EXPECT_TRUE(member.out == expected) << "tensor " << i << " in round " << round;
        std::ranges::fill(member.out, std::byte{0});
      }
    }
  });
}

TEST_P(GroupedAllreduces, MayOverwriteTheirInputs) {
  RunJob(ranks(), [](Engine& engine) {
    std::vector<float> a(5, 1.0f), b(100'000, 2.0f);
    const auto in_place = [](std::vector<float>& v) -> Engine::ReduceTensor {
      return {ViewOf(std::span<const float>(v)), ViewOf(std::span<float>(v))};
    };
    const std::vector<Engine::ReduceTensor> tensors = {in_place(a), in_place(b)};
    engine.Wait(engine.GroupedAllreduce("group", tensors, {.op = ReduceOp::kSum}));
    const auto size = static_cast<float>(engine.size());
    EXPECT_EQ(a, std::vector<float>(5, size));
    EXPECT_EQ(b, std::vector<float>(100'000, 2 * size));
  });
}

TEST_P(GroupedAllreduces, ThatDifferAreRefusedEverywhereAndTheJobGoesOn) {
  if (ranks() == 1) return;  // Nobody to differ from.
  RunJob(ranks(), [](Engine& engine) {
    const bool odd = engine.rank() == engine.size() - 1;
    std::vector<Member> members;
    members.emplace_back(DType::kFloat32, Shape{2}, engine.rank(), 1);
    members.emplace_back(DType::kFloat32, Shape{odd ? 4 : 3}, engine.rank(), 2);
    const auto mismatch = [&] {
      const auto tensors = TensorsOf(members);
      return TextOf<Mismatch>([&] { engine.Wait(engine.GroupedAllreduce("group", tensors)); });
    };
    const std::string last = std::to_string(engine.size() - 1);
    EXPECT_EQ(mismatch(),
              "Mismatched ALLREDUCE tensor shapes: One rank sent a tensor of shape [3], but "
              "another rank sent a tensor of shape [4]. (tensor 'group[1]': rank 0 has [3], rank " +
                  last + " has [4])");
    members.resize(odd ? 1 : 2, members.front());
    EXPECT_EQ(mismatch(),
              "Mismatched ALLREDUCE groups: One rank sent a group of 2 tensors, but another rank "
              "sent a group of 1 tensor. (tensor 'group': rank 0 has a group of 2 tensors, rank " +
                  last + " has a group of 1 tensor)");
    members.resize(1, members.front());
    engine.Wait(engine.GroupedAllreduce("group", TensorsOf(members)));
  });
}

TEST_P(GroupedAllreduces, ThatCannotBeMeantAreRefusedWhereTheyAreSubmitted) {
  RunJob(ranks(), [](Engine& engine) {
    EXPECT_THROW(engine.GroupedAllreduce("none", {}), InvalidArgument);
    std::vector<Member> members;
    members.emplace_back(DType::kFloat32, Shape{2}, engine.rank(), 1);
    members.emplace_back(DType::kBool, Shape{2}, engine.rank(), 2);
    EXPECT_THROW(engine.GroupedAllreduce("average of bools", TensorsOf(members)), InvalidArgument);
    auto tensors = TensorsOf(members);
    tensors[1].out.shape = Shape{1};
    try {
      engine.GroupedAllreduce("g", tensors, {.op = ReduceOp::kSum});
      ADD_FAILURE() << "no error";
    } catch (const InvalidArgument& error) {
      EXPECT_THAT(error.what(), HasSubstr("g[1]"));
    }
    engine.Wait(engine.GroupedAllreduce("g", TensorsOf(members), {.op = ReduceOp::kSum}));
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, GroupedAllreduces, testing::ValuesIn(JobSizes()),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace weir
