#include "coordinator/negotiation/agreement.h"

#include <gtest/gtest.h>

#include <cmath>

namespace weir {
namespace {

Request Allreduce() {
  return {.kind = RequestKind::kAllreduce, .name = "grad", .shape = Shape{3}, .op = ReduceOp::kSum};
}

/// Three ranks, the last of which asks for `other`.
std::string TextFor(const Request& usual, const Request& other) {
  const std::vector<Request> requests = {usual, usual, other};
  const auto found = FindDisagreement(requests, std::vector<int>{0, 1, 2});
  if (!found) return "agreed";
  EXPECT_EQ(found->ranks, (std::vector<int>{0, 2}));
  return found->text;
}

TEST(Agreement, RanksAreNamedAsTheJobNamesThem) {
  Request other = Allreduce();
  other.op = ReduceOp::kMax;
  const std::vector<Request> requests = {Allreduce(), Allreduce(), other};
  const auto found = FindDisagreement(requests, std::vector<int>{1, 4, 6});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->ranks, (std::vector<int>{1, 6}));
  EXPECT_NE(found->text.find("rank 1 has sum, rank 6 has max"), std::string::npos) << found->text;
}

TEST(Agreement, EqualRequestsAgree) { EXPECT_EQ(TextFor(Allreduce(), Allreduce()), "agreed"); }

TEST(Agreement, NamesDifferentTypes) {
  Request other = Allreduce();
  other.dtype = DType::kFloat64;
  EXPECT_EQ(TextFor(Allreduce(), other),
            "Mismatched data types: One rank had type float32, but another rank had type float64. "
            "(tensor 'grad': rank 0 has float32, rank 2 has float64)");
}

TEST(Agreement, NamesDifferentOperations) {
  Request other = Allreduce();
  other.kind = RequestKind::kBroadcast;
  EXPECT_EQ(TextFor(Allreduce(), other),
            "Mismatched operations: One rank did an ALLREDUCE, but another rank did an BROADCAST. "
            "(tensor 'grad': rank 0 has ALLREDUCE, rank 2 has BROADCAST)");
}

TEST(Agreement, NamesDifferentReductions) {
  Request other = Allreduce();
  other.op = ReduceOp::kMax;
  EXPECT_EQ(TextFor(Allreduce(), other),
            "Mismatched reduction operation: One rank sent reduction op 1, but another rank sent "
            "reduction op 4. (tensor 'grad': rank 0 has sum, rank 2 has max)");
}

TEST(Agreement, NamesDifferentScales) {
  Request other = Allreduce();
  other.postscale = 2.0;
  EXPECT_NE(TextFor(Allreduce(), other).find("Mismatched prescale and/or postscale factors"),
            std::string::npos);
}

TEST(Agreement, SeesADifferenceInTheLastDigitOfAScale) {
  Request other = Allreduce();
  other.prescale = std::nextafter(other.prescale, 2.0);
  EXPECT_NE(TextFor(Allreduce(), other).find("Mismatched prescale and/or postscale factors"),
            std::string::npos);
}

TEST(Agreement, NamesDifferentPriorities) {
  Request other = Allreduce();
  other.priority = 3;
  EXPECT_EQ(TextFor(Allreduce(), other),
            "Mismatched priorities: One rank gave the priority 0, but another rank gave the "
            "priority 3. (tensor 'grad': rank 0 has 0, rank 2 has 3)");
}

TEST(Agreement, NamesDifferentRoots) {
  Request usual = Allreduce();
  usual.kind = RequestKind::kBroadcast;
  Request other = usual;
  other.root = 1;
  EXPECT_EQ(TextFor(usual, other),
            "Mismatched BROADCAST root ranks: One rank specified root rank 0, but another rank "
            "specified root rank 1. (tensor 'grad': rank 0 has 0, rank 2 has 1)");
}

TEST(Agreement, AnAllgatherMayDifferInTheFirstDimensionOnly) {
  Request usual = Allreduce();
  usual.kind = RequestKind::kAllgather;
  usual.shape = Shape{3, 4};
  Request longer = usual;
  longer.shape = Shape{9, 4};
  EXPECT_EQ(TextFor(usual, longer), "agreed");
  Request wider = usual;
  wider.shape = Shape{3, 5};
  EXPECT_NE(TextFor(usual, wider)
                .find("dimension 1 equal to 4, but another rank sent a tensor with "
                      "dimension 1 equal to 5"),
            std::string::npos);
  Request deeper = usual;
  deeper.shape = Shape{3, 4, 1};
  EXPECT_NE(TextFor(usual, deeper).find("of rank 2, but another rank sent a tensor of rank 3"),
            std::string::npos);
}

TEST(Agreement, AnAlltoallMayDifferInTheFirstDimensionOnly) {
  Request usual = Allreduce();
  usual.kind = RequestKind::kAlltoall;
  usual.shape = Shape{3, 4};
  usual.splits = {1, 1, 1};
  Request longer = usual;
  longer.shape = Shape{9, 4};
  longer.splits = {0, 0, 9};
  EXPECT_EQ(TextFor(usual, longer), "agreed");
  Request wider = usual;
  wider.shape = Shape{3, 5};
  EXPECT_EQ(
      TextFor(usual, wider),
      "Mismatched ALLTOALL tensor shapes: One rank sent a tensor with dimension 1 equal to 4, "
      "but another rank sent a tensor with dimension 1 equal to 5. (tensor 'grad': rank 0 has "
      "[4], rank 2 has [5])");
  Request deeper = usual;
  deeper.shape = Shape{3, 4, 1};
  EXPECT_EQ(TextFor(usual, deeper),
            "Mismatched ALLTOALL tensor shapes: One rank sent a tensor of rank 2, but another rank "
            "sent a tensor of rank 3. (tensor 'grad': rank 0 has 2, rank 2 has 3)");
}

TEST(Agreement, AReducescatterIsComparedLikeAnAllreduce) {
  Request usual = Allreduce();
  usual.kind = RequestKind::kReducescatter;
  EXPECT_EQ(TextFor(usual, usual), "agreed");
  Request longer = usual;
  longer.shape = Shape{4};
  EXPECT_EQ(TextFor(usual, longer),
            "Mismatched REDUCESCATTER tensor shapes: One rank sent a tensor of shape [3], but "
            "another rank sent a tensor of shape [4]. (tensor 'grad': rank 0 has [3], rank 2 has "
            "[4])");
  Request other = usual;
  other.op = ReduceOp::kAverage;
  EXPECT_NE(TextFor(usual, other).find("Mismatched reduction operation"), std::string::npos);
  other = usual;
  other.postscale = 2.0;
  EXPECT_NE(TextFor(usual, other).find("Mismatched prescale and/or postscale factors"),
            std::string::npos);
  other = usual;
  other.priority = 1;
  EXPECT_NE(TextFor(usual, other).find("Mismatched priorities"), std::string::npos);
  EXPECT_NE(TextFor(Allreduce(), usual).find("another rank did an REDUCESCATTER."),
            std::string::npos);
}

TEST(Agreement, TensorsOfAGroupAreComparedAsIfEachWereAlone) {
  Request usual{.kind = RequestKind::kAllgather, .name = "g"};
  usual.members = {{"", DType::kFloat32, Shape{4}}, {"", DType::kFloat32, Shape{2, 2}}};
  Request other = usual;
  other.members[0].shape = Shape{9};
  EXPECT_EQ(TextFor(usual, other), "agreed");
  other.members[1].shape = Shape{2, 3};
  EXPECT_EQ(TextFor(usual, other),
            "Mismatched ALLGATHER tensor shapes: One rank sent a tensor with dimension 1 equal to "
            "2, but another rank sent a tensor with dimension 1 equal to 3. (tensor 'g[1]': rank 0 "
            "has [2], rank 2 has [3])");
  other = usual;
  other.members[1].dtype = DType::kInt64;
  EXPECT_EQ(TextFor(usual, other),
            "Mismatched data types: One rank had type float32, but another rank had type int64. "
            "(tensor 'g[1]': rank 0 has float32, rank 2 has int64)");
  other = usual;
  other.members.pop_back();
  EXPECT_EQ(TextFor(usual, other),
            "Mismatched ALLGATHER groups: One rank sent a group of 2 tensors, but another rank "
            "sent a group of 1 tensor. (tensor 'g': rank 0 has a group of 2 tensors, rank 2 has a "
            "group of 1 tensor)");
  const Request single{.kind = RequestKind::kAllgather, .name = "g", .shape = Shape{4}};
  EXPECT_NE(TextFor(usual, single).find("another rank sent a single tensor."), std::string::npos);
  EXPECT_NE(TextFor(single, usual).find("another rank sent a group of 2 tensors."),
            std::string::npos);
}

TEST(Agreement, AGroupWithoutRowsIsRefused) {
  Request usual{.kind = RequestKind::kAllgather, .name = "g"};
  usual.members = {{"", DType::kFloat32, Shape{4}}, {"", DType::kFloat32, Shape{}}};
  const auto found = FindDisagreement(std::vector{usual, usual}, std::vector{0, 1});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->text,
            "Process-set rank zero tried to ALLGATHER a rank-zero tensor. (tensor 'g[1]')");
}

// As no rank of ours sends it: read past its end before.
TEST(Agreement, MembersOfWhatHasNoTensorsAreNotLookedAt) {
  Request usual{.kind = RequestKind::kBarrier, .name = "b"};
  usual.members = {{"", DType::kFloat32, Shape{4}}, {"", DType::kFloat32, Shape{2}}};
  Request other = usual;
  other.members.clear();
  EXPECT_EQ(TextFor(usual, other), "agreed");
}

TEST(Agreement, SparseTensorsMayDifferInTheirEntriesAlone) {
  Request usual{.kind = RequestKind::kSparseAllreduce, .name = "s", .op = ReduceOp::kSum};
  usual.members = {{"s.indices", DType::kInt64, Shape{4, 1}},
                   {"s.values", DType::kFloat32, Shape{4, 8}}};
  Request other = usual;
  other.members = {{"s.indices", DType::kInt64, Shape{7, 1}},
                   {"s.values", DType::kFloat32, Shape{7, 8}}};
  EXPECT_EQ(TextFor(usual, other), "agreed");
  other.members[1].shape = Shape{7, 9};
  EXPECT_NE(TextFor(usual, other).find("(tensor 's.values': rank 0 has [8], rank 2 has [9])"),
            std::string::npos);
  other = usual;
  other.op = ReduceOp::kAverage;
  EXPECT_NE(TextFor(usual, other).find("Mismatched reduction operation"), std::string::npos);
  other = usual;
  other.postscale = 2.0;
  EXPECT_NE(TextFor(usual, other).find("Mismatched prescale"), std::string::npos);
}

TEST(Agreement, GroupsNameTheFirstTensorOrSettingThatDiffers) {
  Request usual{.kind = RequestKind::kGroup, .name = "opt"};
  usual.members = {{"a", DType::kFloat32, Shape{4}}, {"b", DType::kFloat32, Shape{2, 2}}};
  usual.settings = {{"density", "0.1"}};
  Request other = usual;
  other.members[1].shape = Shape{2, 3};
  EXPECT_NE(TextFor(usual, other).find("rank 2 has 'b' float32 [2, 3]"), std::string::npos);
  other = usual;
  other.settings[0].second = "0.2";
  EXPECT_NE(TextFor(usual, other).find("rank 0 has density=0.1, rank 2 has density=0.2"),
            std::string::npos);
  other = usual;
  other.members.pop_back();
  EXPECT_NE(TextFor(usual, other).find("numbers of tensors differ"), std::string::npos);
}

TEST(Agreement, AGroupsSettingThatOneRankAloneHasIsNamed) {
  Request usual{.kind = RequestKind::kGroup, .name = "opt"};
  usual.settings = {{"compressor", "dgc"}, {"density", "0.1"}};
  Request more = usual;
  more.settings.insert(more.settings.begin() + 1, {"compressor[*.bias]", "dense"});
  EXPECT_NE(TextFor(usual, more)
                .find("rank 0 has no compressor[*.bias], rank 2 has compressor[*.bias]=dense"),
            std::string::npos)
      << TextFor(usual, more);
  EXPECT_NE(TextFor(more, usual)
                .find("rank 0 has compressor[*.bias]=dense, rank 2 has no compressor[*.bias]"),
            std::string::npos)
      << TextFor(more, usual);
}

}  // namespace
}  // namespace weir
