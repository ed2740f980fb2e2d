#include "coordinator/negotiation/arbiter.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "weir/error.h"

namespace weir {
namespace {

/// A job of two ranks that always want the same, seen from rank 0.
class Slots {
 public:
  explicit Slots(std::uint32_t capacity)
      : arbiter_({0, 1}, capacity, [this](std::uint32_t slot) { return wanted_.contains(slot); }) {}

  /// A round in which these slots are ready and these names are asked for; what rank 0 answers.
  std::vector<Response> Round(const std::vector<std::uint32_t>& ready,
                              const std::vector<std::string>& names = {}) {
    arbiter_.BeginRound(ready);
    for (int rank = 0; rank < 2; ++rank) {
      for (const std::string& name : names) {
        arbiter_.Add(rank, {.kind = RequestKind::kAllreduce, .name = name, .shape = Shape{3}});
      }
    }
    return arbiter_.Take();
  }
  /// The slot that a round of its own gives to a name.
  std::uint32_t SlotOf(const std::string& name) { return Round({}, {name}).back().slot; }

  /// Waits on rank 0.
  void Want(std::uint32_t slot) { wanted_.insert(slot); }

 private:
  std::set<std::uint32_t> wanted_;
  Arbiter arbiter_;
};

using Kind = Response::Kind;

TEST(Arbiter, ANameThatWasNotUsedForLongGivesItsSlotToANewOne) {
  Slots slots(2);
  const std::uint32_t a = slots.SlotOf("a"), b = slots.SlotOf("b");
  slots.Round({b});
  EXPECT_EQ(slots.SlotOf("too early"), kNoSlot);
  const std::vector<Response> answers = slots.Round({}, {"c"});
  ASSERT_EQ(answers.size(), 2u);
  EXPECT_EQ(answers[0], (Response{.kind = Kind::kForget, .name = "a", .slot = a}));
  EXPECT_EQ(answers[1], (Response{.kind = Kind::kReady, .name = "c", .slot = a}));
}

TEST(Arbiter, TheOneThatWasNotUsedForLongestGoesFirst) {
  Slots slots(2);
  const std::uint32_t a = slots.SlotOf("a"), b = slots.SlotOf("b");
  slots.Round({a});
  EXPECT_EQ(slots.SlotOf("too early"), kNoSlot);
  EXPECT_EQ(slots.SlotOf("too early"), kNoSlot);
  EXPECT_EQ(slots.SlotOf("c"), b);
  EXPECT_EQ(slots.SlotOf("d"), a);
}

TEST(Arbiter, NothingIsTakenFromANameThatIsUsedInTheSameRound) {
  Slots slots(1);
  const std::uint32_t a = slots.SlotOf("a");
  for (int i = 0; i < 10; ++i) {
    for (const Response& answer : slots.Round({a}, {"b", "c", "d", "e"})) {
      EXPECT_EQ(answer.kind, Kind::kReady);
      EXPECT_EQ(answer.slot, kNoSlot);
    }
  }
}

TEST(Arbiter, NothingIsTakenFromANameThatGotItsSlotInTheSameRound) {
  Slots slots(1);
  std::size_t given = 0;
  for (const Response& answer : slots.Round({}, {"a", "b", "c", "d", "e", "f"})) {
    EXPECT_EQ(answer.kind, Kind::kReady);
    given += answer.slot != kNoSlot ? 1 : 0;
  }
  EXPECT_EQ(given, 1u);
}

TEST(Arbiter, NothingIsTakenFromANameThatRankZeroWaitsFor) {
  Slots slots(2);
  const std::uint32_t a = slots.SlotOf("a"), b = slots.SlotOf("b");
  slots.Want(a);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(slots.SlotOf("too early"), kNoSlot) << i;
  EXPECT_EQ(slots.SlotOf("c"), b);
  EXPECT_EQ(slots.Round({}, {"a"}).front(),
            (Response{.kind = Kind::kForget, .name = "a", .slot = a}))
      << "a has its slot still";
}

TEST(Arbiter, ALoopOverMoreNamesThanSlotsKeepsTheOnesItHas) {
  Slots slots(10);
  std::vector<std::uint32_t> of_name(15, kNoSlot);
  std::size_t asked = 0;
  for (int step = 0; step < 20; ++step) {
    asked = 0;
    for (std::size_t i = 0; i < of_name.size(); ++i) {
      if (of_name[i] != kNoSlot) {
        slots.Round({of_name[i]});
        continue;
      }
      ++asked;
      of_name[i] = slots.SlotOf("tensor " + std::to_string(i));
    }
  }
  EXPECT_EQ(asked, 5u);
}

TEST(Arbiter, SlotsOfAGroupAreNeverTaken) {
  Arbiter arbiter({0}, 1);
  Request group{.kind = RequestKind::kGroup, .name = "model"};
  group.slots = 5;
  arbiter.BeginRound({});
  arbiter.Add(0, group);
  EXPECT_EQ(arbiter.Take().front().slot, 0u);
  for (int i = 0; i < 20; ++i) {
    arbiter.BeginRound({});
    arbiter.Add(0, {.kind = RequestKind::kBarrier, .name = "b" + std::to_string(i)});
    for (const Response& answer : arbiter.Take()) {
      EXPECT_TRUE(answer.slot == kNoSlot || answer.slot == 5u) << answer.slot;
    }
  }
}

TEST(Arbiter, WithoutACacheEveryNameAsksEveryTime) {
  Slots slots(0);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(slots.SlotOf("a"), kNoSlot);
}

TEST(Arbiter, WhatComesOnceGetsNoSlot) {
  Arbiter arbiter({0}, 8);
  arbiter.Add(0, {.kind = RequestKind::kAllreduce, .name = "once", .shape = Shape{1}, .slots = 0});
  const std::vector<Response> answers = arbiter.Take();
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers[0].slot, kNoSlot);
}

Request Allreduce(const std::string& name) {
  return {.kind = RequestKind::kAllreduce, .name = name, .shape = Shape{3}};
}
Request Join() { return {.kind = RequestKind::kJoin, .name = std::string(kJoinName), .slots = 0}; }

TEST(Arbiter, WhoHasJoinedIsWaitedForByNobody) {
  Arbiter arbiter({4, 7, 9}, 8);
  for (int member = 0; member < 3; ++member) arbiter.Add(member, Allreduce("cached"));
  arbiter.Add(1, Allreduce("b"));
  arbiter.Add(2, Allreduce("b"));
  arbiter.Add(1, Allreduce("a"));
  const std::vector<Response> before = arbiter.Take();
  ASSERT_EQ(before.size(), 1u);
  const std::uint32_t slot = before[0].slot;

  arbiter.Add(0, Join());
  // No slot is left, and what only waited for the rank is decided. Who has not asked learns what it
  // is; members 1 and 2 go on without a slot.
  EXPECT_EQ(
      arbiter.Take(),
      (std::vector<Response>{
          {.kind = Kind::kForget, .name = "cached", .slot = slot},
          {.kind = Kind::kJoined, .name = std::string(kJoinName), .slot = kNoSlot, .ranks = {4}},
          {.kind = Kind::kReady, .name = "b", .slot = kNoSlot, .request = Allreduce("b")}}));
  arbiter.Add(2, Allreduce("a"));
  EXPECT_EQ(arbiter.Take(),
            (std::vector<Response>{
                {.kind = Kind::kReady, .name = "a", .slot = kNoSlot, .request = Allreduce("a")}}));
}

TEST(Arbiter, TheLastToJoinIsNamedAndEverybodyIsBack) {
  Arbiter arbiter({4, 7, 9}, 8);
  for (const int member : {2, 0}) arbiter.Add(member, Join());
  EXPECT_EQ(arbiter.Take().size(), 2u);
  EXPECT_THROW(arbiter.Add(0, Join()), Corrupt);
  arbiter.Add(1, Join());
  EXPECT_EQ(
      arbiter.Take().back(),
      (Response{
          .kind = Kind::kAllJoined, .name = std::string(kJoinName), .slot = kNoSlot, .rows = {7}}));
  arbiter.Add(0, Allreduce("a"));
  arbiter.Add(1, Allreduce("a"));
  EXPECT_EQ(arbiter.Take().size(), 0u);
  arbiter.Add(2, Allreduce("a"));
  EXPECT_NE(arbiter.Take().at(0).slot, kNoSlot);
}

TEST(Arbiter, WhatWhoJoinsHasAskedForCountsInWhicheverOrderItCame) {
  Arbiter arbiter({4, 7}, 8);
  for (int member = 0; member < 2; ++member) arbiter.Add(member, Allreduce("z"));
  arbiter.Take();
  // Both wait for z; member 1 joins. Its request comes after one that would be enough without it.
  arbiter.Add(0, Allreduce("z"));
  arbiter.Add(1, Allreduce("z"));
  arbiter.Add(1, Join());
  const std::vector<Response> answers = arbiter.Take();
  EXPECT_EQ(answers.back(), (Response{.kind = Kind::kReady, .name = "z", .slot = kNoSlot}));
  // Nothing of it is left.
  arbiter.Add(0, Allreduce("z"));
  EXPECT_EQ(arbiter.Take().back().request, Allreduce("z"));
}

TEST(Arbiter, WhatNobodyElseAsksForIsAnsweredWhenTheLastJoins) {
  Arbiter arbiter({4, 7}, 8);
  arbiter.Add(0, Allreduce("a"));
  arbiter.Add(0, Join());
  arbiter.Take();
  arbiter.Add(1, Join());
  const std::vector<Response> answers = arbiter.Take();
  ASSERT_EQ(answers.size(), 3u);
  EXPECT_EQ(answers[1].request, Allreduce("a"));
  EXPECT_EQ(answers[2].kind, Kind::kAllJoined);
}

TEST(Arbiter, ZerosOfWhoHasJoinedAreNotPutIntoAMinimum) {
  Arbiter arbiter({4, 7}, 8);
  arbiter.Add(1, Join());
  arbiter.Take();
  Request minimum = Allreduce("m");
  minimum.op = ReduceOp::kMin;
  arbiter.Add(0, minimum);
  const std::vector<Response> answers = arbiter.Take();
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers[0].kind, Kind::kMismatch);
  EXPECT_EQ(answers[0].ranks, std::vector<int>{7});
}

}  // namespace
}  // namespace weir
