#include "coordinator/negotiation/gpu_agreement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordinator/negotiation/arbiter.h"

namespace weir {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr int kRanks[] = {2, 5, 7};

GpuAgreement Agreement(const std::vector<std::string>& gpus) {
  std::vector<Request> requests;
  for (const std::string& gpu : gpus) requests.push_back({.name = "x", .gpu = gpu});
  return AgreeOnGpus(requests, kRanks);
}

TEST(GpuAgreement, NcclTakesAnotherGpuOfEveryRank) {
  EXPECT_THAT(Agreement({"a", "b", "c"}).gpus, ElementsAre("a", "b", "c"));
}

TEST(GpuAgreement, WhereARankOffersNoneThereIsNothingToTell) {
  for (const std::vector<std::string>& gpus :
       {std::vector<std::string>{"a", "", "c"}, {"", "", ""}, {"a", "b", ""}}) {
    EXPECT_THAT(Agreement(gpus).gpus, IsEmpty());
    EXPECT_EQ(Agreement(gpus).trouble, "");
  }
}

TEST(GpuAgreement, RanksThatShareAGpuAreNamed) {
  const GpuAgreement agreement = Agreement({"a", "b", "a"});
  EXPECT_THAT(agreement.gpus, IsEmpty());
  EXPECT_THAT(agreement.trouble, AllOf(HasSubstr("ranks 2 and 7"), HasSubstr("GPU a")));
}

/// Rank 0's answer to two ranks.
Response Answer(const Request& a, const Request& b) {
  Arbiter arbiter({0, 1}, 8);
  arbiter.BeginRound({});
  arbiter.Add(0, a);
  arbiter.Add(1, b);
  return arbiter.Take().front();
}

TEST(GpuAgreement, IsPartOfTheAnswer) {
  const Request a{.name = "x", .shape = Shape{2}, .gpu = "a"};
  Request b = a;
  b.gpu = "b";
  EXPECT_THAT(Answer(a, b).gpus, ElementsAre("a", "b"));
  const Response shared = Answer(a, a);
  EXPECT_EQ(shared.kind, Response::Kind::kReady);
  EXPECT_THAT(shared.gpus, IsEmpty());
  EXPECT_THAT(shared.text, HasSubstr("share the GPU a"));
}

TEST(GpuAgreement, WhereOneRankTakesNothingButNcclSharingIsRefused) {
  const Request a{.name = "x", .shape = Shape{2}, .gpu = "a"};
  Request alone = a;
  alone.gpu_alone = true;
  for (const auto& [first, second] : {std::pair(a, alone), std::pair(alone, a)}) {
    const Response answer = Answer(first, second);
    EXPECT_EQ(answer.kind, Response::Kind::kMismatch);
    EXPECT_THAT(answer.text, AllOf(HasSubstr("'x'"), HasSubstr("ranks 0 and 1 share the GPU a")));
    EXPECT_THAT(answer.ranks, ElementsAre(0, 1));
  }
}

}  // namespace
}  // namespace weir
