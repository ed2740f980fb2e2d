#include "coordinator/rank/stall_inspector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace weir {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::internal::CaptureStderr;
using testing::internal::GetCapturedStderr;

constexpr std::int64_t kSecond = 1'000'000'000;
using Waiting = std::vector<StallInspector::Waiting>;

/// Remembers what an inspector said.
class FakeMembership final : public Membership {
 public:
  void Listen(Listener) override {}
  void Joined() override {}
  void Abort(const std::string&) override {}
  void RequestStatus() override { ++requests; }
  void SendStatus(const std::string& text) override { statuses.push_back(text); }
  void Leave() override {}

  int requests = 0;
  std::vector<std::string> statuses;
};

Settings Limits(double warning, double shutdown) {
  Settings settings;
  settings.stall_warning_seconds = warning;
  settings.stall_shutdown_seconds = shutdown;
  return settings;
}

/// Process set 0 is all of them, set 7 has ranks 0 and 2; there is no other.
std::vector<int> RanksOf(int process_set) {
  if (process_set == 0) return {0, 1, 2};
  return process_set == 7 ? std::vector<int>{0, 2} : std::vector<int>{};
}

/// Three ranks whose clock is the test's. A tensor waits on some of them.
class Job {
 public:
  explicit Job(const Settings& settings) {
    for (int rank = 0; rank < 3; ++rank) {
      inspectors_.push_back(
          std::make_unique<StallInspector>(settings, rank, 3, &memberships_[rank], RanksOf));
    }
  }

  StallInspector& inspector(int rank) { return *inspectors_[static_cast<std::size_t>(rank)]; }
  int requests(int rank) const { return memberships_[rank].requests; }

  /// Every rank answers a request; waiting[r] is what waits on rank r, joined[r] the process sets
  /// in which it has joined. What the job ends with.
  std::optional<std::string> Answers(std::int64_t now, const std::vector<Waiting>& waiting,
                                     const std::vector<std::vector<int>>& joined = {{}, {}, {}}) {
    std::optional<std::string> ends;
    for (int rank = 0; rank < 3; ++rank) {
      EXPECT_FALSE(ends) << "rank 0 decided before all had answered";
      const auto index = static_cast<std::size_t>(rank);
      ends = Answer(rank, now, waiting[index], joined[index]);
    }
    return ends;
  }
  /// One of them does.
  std::optional<std::string> Answer(int rank, std::int64_t now, const Waiting& waiting,
                                    const std::vector<int>& joined = {}) {
    inspector(rank).Answer(now,
                           {waiting, rank == 2 ? "" : "layer " + std::to_string(rank), joined});
    return inspector(0).OnStatus(now, rank, memberships_[rank].statuses.back());
  }
  /// A rank tells rank 0 that a wait is over, and what waits on it now.
  void TellEnd(int rank, std::int64_t now, const Waiting& waiting) {
    inspector(rank).TellEnd(now, {waiting, "", {}});
    EXPECT_FALSE(inspector(0).OnStatus(now, rank, memberships_[rank].statuses.back()));
  }

 private:
  FakeMembership memberships_[3];
  std::vector<std::unique_ptr<StallInspector>> inspectors_;
};

TEST(StallInspector, SaysNothingBeforeTheLimit) {
  Job job(Limits(60, 0));
  const Waiting waiting = {{"w", kSecond}};
  EXPECT_FALSE(job.inspector(1).Check(60 * kSecond, waiting));
  EXPECT_EQ(job.requests(1), 0);
  EXPECT_EQ(job.inspector(1).stalled(), 0);
}

TEST(StallInspector, AsksOnceAnIntervalForAsLongAsSomethingWaits) {
  Job job(Limits(60, 0));
  const Waiting waiting = {{"w", kSecond}, {"younger", 50 * kSecond}};
  for (int tenth = 10; tenth < 3000; ++tenth) {
    const std::int64_t now = tenth * kSecond / 10;
    if (job.inspector(1).due(now)) {
      EXPECT_FALSE(job.inspector(1).Check(now, waiting));
    }
    // At 61 s, and every 60 s after it.
    EXPECT_EQ(job.requests(1), (tenth - 10) / 600) << "after " << tenth << " tenths of a second";
  }
  EXPECT_EQ(job.inspector(1).stalled(), 2);
  EXPECT_FALSE(job.inspector(1).Check(300 * kSecond, {}));
  EXPECT_EQ(job.inspector(1).stalled(), 0);
}

TEST(StallInspector, IsNeverDueWhenTurnedOff) {
  Settings settings = Limits(60, 0);
  settings.stall_check = false;
  Job job(settings);
  EXPECT_FALSE(job.inspector(0).due(1000 * kSecond));
}

TEST(StallInspector, WarnsWithTheTensorTheRanksThatMissItAndWhatTheyDidLast) {
  Job job(Limits(60, 0));
  CaptureStderr();
  EXPECT_FALSE(job.Answers(90 * kSecond, {{{"w", 20 * kSecond}}, {}, {}}));
  EXPECT_THAT(
      GetCapturedStderr(),
      HasSubstr("warning: stalled: tensor 'w' was submitted by ranks [0] 70.0 s ago but not "
                "by ranks [1, 2] (rank 1 last finished 'layer 1', rank 2 has finished "
                "nothing yet)"));
}

/// Every rank that waits asks, so that rank 0 puts the same answers together several times.
TEST(StallInspector, WarnsOnceAnInterval) {
  Job job(Limits(60, 0));
  CaptureStderr();
  for (int minute = 1; minute <= 3; ++minute) {
    for (int asker = 0; asker < 3; ++asker) {
      job.Answers(60 * minute * kSecond + asker, {{{"w", 0}}, {}, {}});
    }
  }
  const std::string text = GetCapturedStderr();
  EXPECT_EQ(std::ranges::count(text, '\n'), 3) << text;
}

TEST(StallInspector, TheLongestWaitCounts) {
  Job job(Limits(60, 100));
  CaptureStderr();
  // 99 s on rank 0, 105 s on rank 2: above the limit.
  const auto ends =
      job.Answers(105 * kSecond, {{{"w", 6 * kSecond}}, {}, {{"w", 0}, {"v", 100 * kSecond}}});
  EXPECT_EQ(GetCapturedStderr(), "");
  ASSERT_TRUE(ends);
  EXPECT_THAT(*ends, AllOf(HasSubstr("'w' was submitted by ranks [0, 2] 105.0 s ago but not by "
                                     "ranks [1]"),
                           HasSubstr("'v' was submitted by ranks [2] 5.0 s ago but not by ranks "
                                     "[0, 1]")));
}

TEST(StallInspector, OnlyMembersOfAProcessSetAreMissed) {
  Job job(Limits(60, 100));
  const Waiting in_set = {{.name = "w", .since_ns = 0, .process_set = 7}};
  CaptureStderr();
  EXPECT_FALSE(job.Answers(90 * kSecond, {in_set, {}, {}}));
  EXPECT_THAT(GetCapturedStderr(), HasSubstr("tensor 'w' of process set 7 was submitted by ranks "
                                             "[0] 90.0 s ago but not by ranks [2] (rank 2 "));
  // Rank 1 is no member; one tensor of that name in the whole job is another.
  CaptureStderr();
  EXPECT_FALSE(job.Answers(200 * kSecond, {in_set, {}, in_set}));
  const auto ends = job.Answers(300 * kSecond, {in_set, {{"w", 0}}, in_set});
  EXPECT_EQ(GetCapturedStderr(), "");
  EXPECT_THAT(ends.value_or(""), HasSubstr("tensor 'w' was submitted by ranks [1] 300.0 s ago but "
                                           "not by ranks [0, 2]"));
}

TEST(StallInspector, WhatARemovedProcessSetWaitedForIsNobodysFault) {
  Job job(Limits(60, 100));
  EXPECT_FALSE(job.Answers(200 * kSecond, {{{.name = "w", .process_set = 8}}, {}, {}}));
}

TEST(StallInspector, WhatEveryRankHasIsNobodysFault) {
  Job job(Limits(60, 100));
  CaptureStderr();
  EXPECT_FALSE(job.Answers(200 * kSecond, {{{"w", 0}}, {{"w", 0}}, {{"w", 0}}}));
  EXPECT_FALSE(
      job.Answers(200 * kSecond, {{{"w", 0}, {"v", 190 * kSecond}}, {{"w", 0}}, {{"w", 0}}}));
  EXPECT_THAT(GetCapturedStderr(), AllOf(HasSubstr("'v'"), Not(HasSubstr("'w'"))));
}

TEST(StallInspector, NothingWaitsAnyMoreWhenTheAnswersCome) {
  Job job(Limits(60, 100));
  CaptureStderr();
  EXPECT_FALSE(job.Answers(200 * kSecond, {{}, {}, {}}));
  EXPECT_EQ(GetCapturedStderr(), "");
}

TEST(StallInspector, AnAnswerThatMakesNoSenseCountsAsNone) {
  Job job(Limits(60, 0));
  CaptureStderr();
  const std::int64_t now = 80 * kSecond;
  for (const char* text :
       {"", "no json", "[1, 2]", "{}", R"({"waiting": 3})", R"({"waiting": {"w": 70.0}})",
        R"({"waiting": [[0, "w", "long"]]})", R"({"waiting": [[0, "w"]]})"}) {
    EXPECT_FALSE(job.inspector(0).OnStatus(now, 0, text));
    EXPECT_FALSE(job.inspector(0).OnStatus(now, 1, R"({"waiting": [[0, "w", 70.0]]})"));
    EXPECT_FALSE(
        job.inspector(0).OnStatus(now, 2, R"({"waiting": [[0, "w", 70.0]], "last_finished": 7})"));
  }
  EXPECT_THAT(GetCapturedStderr(), HasSubstr("but not by ranks [0]"));
}

/// A rank that computes for long cannot answer; the limit holds all the same, two seconds later.
TEST(StallInspector, EndsTheJobWithoutTheAnswersThatNeverCame) {
  Job job(Limits(60, 100));
  const Waiting waiting = {{"w", 0}};
  EXPECT_FALSE(job.inspector(1).Check(101 * kSecond, waiting));
  EXPECT_EQ(job.requests(1), 1);
  // Rank 0 would know more, and goes first.
  EXPECT_FALSE(job.inspector(1).Check(104 * kSecond, waiting));
  const auto ends = job.inspector(1).Check(105 * kSecond, waiting);
  ASSERT_TRUE(ends);
  EXPECT_THAT(*ends, HasSubstr("'w' was submitted by rank 1 105.0 s ago and not by every rank"));
}

TEST(StallInspector, RankZeroNamesWhoDidNotAnswer) {
  Job job(Limits(60, 100));
  const Waiting waiting = {{"w", 0}};
  EXPECT_FALSE(job.inspector(0).Check(61 * kSecond, waiting));
  // Asked again at the limit, whenever the last question was.
  EXPECT_FALSE(job.inspector(0).Check(100 * kSecond, waiting));
  EXPECT_EQ(job.requests(0), 2);
  EXPECT_FALSE(job.inspector(0).OnStatus(100 * kSecond, 1, R"({"waiting": [[0, "w", 100]]})"));
  const auto ends = job.inspector(0).Check(102 * kSecond, waiting);
  ASSERT_TRUE(ends);
  EXPECT_THAT(*ends, HasSubstr("ranks [0, 2] did not answer what they are doing"));
}

TEST(StallInspector, RankZeroWarnsOfRanksThatDoNotAnswer) {
  Job job(Limits(60, 0));
  const Waiting waiting = {{"w", 0}};
  EXPECT_FALSE(job.inspector(0).Check(61 * kSecond, waiting));
  for (int rank : {0, 2})
    job.inspector(0).OnStatus(61 * kSecond, rank, R"({"waiting": [[0, "w", 61]]})");
  CaptureStderr();
  EXPECT_FALSE(job.inspector(0).Check(121 * kSecond, waiting));
  EXPECT_THAT(GetCapturedStderr(),
              AllOf(HasSubstr("'w'"), HasSubstr("ranks [1] did not answer what they are doing")));
}

// An answer has room for the first hundred names.
TEST(StallInspector, ReadsNothingIntoWhatAnAnswerHadNoRoomFor) {
  Job job(Limits(10, 20));
  Waiting all;
  for (int i = 0; i < 150; ++i) all.push_back({"w" + std::to_string(1000 + i), 0});
  Waiting without_one = all;
  without_one.erase(without_one.begin() + 7);
  const auto ends = job.Answers(30 * kSecond, {all, all, without_one});
  ASSERT_TRUE(ends);
  EXPECT_THAT(*ends,
              AllOf(HasSubstr("'w1007' was submitted by ranks [0, 1]"), Not(HasSubstr(";"))));
}

TEST(StallInspector, WhoHasJoinedHoldsNothingUp) {
  Job job(Limits(10, 20));
  const auto ends = job.Answers(30 * kSecond, {{{"w", 0}}, {}, {}}, {{}, {0}, {}});
  ASSERT_TRUE(ends);
  EXPECT_THAT(*ends, HasSubstr("'w' was submitted by ranks [0] 30.0 s ago but not by ranks [2]"));
  EXPECT_FALSE(Job(Limits(10, 20)).Answers(30 * kSecond, {{{"w", 0}}, {}, {}}, {{}, {0}, {0}}));
}

TEST(StallInspector, WithoutAChannelARankEndsTheJobAtItsLimit) {
  StallInspector inspector(Limits(60, 100), 0, 1, nullptr, RanksOf);
  EXPECT_FALSE(inspector.Check(99 * kSecond, {{"w", 0}}));
  EXPECT_TRUE(inspector.Check(100 * kSecond, {{"w", 0}}));
}

TEST(StallInspector, ALimitBelowTheWarningIsAskedForInTime) {
  Job job(Limits(60, 10));
  EXPECT_FALSE(job.inspector(2).Check(10 * kSecond, {{"w", 0}}));
  EXPECT_EQ(job.requests(2), 1);
}

TEST(StallInspector, ADeadlineBelowTheWarningIsWarnedOfInTime) {
  Settings settings = Limits(60, 0);
  settings.timeout_seconds = 30;
  Job job(settings);
  EXPECT_FALSE(job.inspector(0).Check(14 * kSecond, {{"w", 0}}));
  EXPECT_EQ(job.requests(0), 0);
  EXPECT_FALSE(job.inspector(0).Check(15 * kSecond, {{"w", 0}}));
  EXPECT_EQ(job.requests(0), 1);
}

/// The names of what rank 0 lists.
std::vector<std::string> Listed(Job& job) {
  std::vector<std::string> names;
  for (const StalledTensor& tensor : job.inspector(0).stalls().tensors)
    names.push_back(tensor.name);
  return names;
}

TEST(StallInspector, TheListSaysWhatWaitsSinceWhenAndForWhom) {
  Job job(Limits(60, 0));
  EXPECT_TRUE(Listed(job).empty());
  job.Answers(70 * kSecond, {{{"w", kSecond}, {"v", 5 * kSecond, 7}}, {}, {{"w", 3 * kSecond}}});
  EXPECT_THAT(
      job.inspector(0).stalls().tensors,
      ElementsAre(
          StalledTensor{.name = "w", .process_set = 0, .since_ns = kSecond, .missing = {1}},
          StalledTensor{.name = "v", .process_set = 7, .since_ns = 5 * kSecond, .missing = {2}}));
}

TEST(StallInspector, WhatHasNotWaitedForLongIsNotListed) {
  Job job(Limits(60, 0));
  job.Answers(70 * kSecond,
              {{{"w", kSecond}, {"half", 40 * kSecond}, {"young", 41 * kSecond}}, {}, {}});
  EXPECT_THAT(Listed(job), ElementsAre("w", "half"));
}

TEST(StallInspector, TheListIsBoundedAndHasTheLongestWaits) {
  Job job(Limits(60, 0));
  Waiting waiting;
  for (int i = 0; i < 20; ++i) waiting.push_back({"w" + std::to_string(i), (20 - i) * kSecond});
  job.Answers(90 * kSecond, {waiting, {}, {}});
  const Stalls stalls = job.inspector(0).stalls();
  ASSERT_EQ(stalls.tensors.size(), 16u);
  EXPECT_EQ(stalls.left_out, 4u);
  EXPECT_EQ(stalls.tensors.front().name, "w19");
  EXPECT_EQ(stalls.tensors.back().name, "w4");
}

TEST(StallInspector, ARankTellsThatAWaitIsOverAndTheListHasItNoMore) {
  Job job(Limits(60, 0));
  const Waiting both = {{"w", 0}, {"v", 0}};
  EXPECT_FALSE(job.inspector(1).Check(70 * kSecond, both));
  job.Answers(70 * kSecond, {{}, both, {}});
  EXPECT_FALSE(job.inspector(1).Check(71 * kSecond, both));
  EXPECT_FALSE(job.inspector(1).owes_end());
  EXPECT_FALSE(job.inspector(1).Check(72 * kSecond, {{"v", 0}}));
  ASSERT_TRUE(job.inspector(1).owes_end());
  job.TellEnd(1, 72 * kSecond, {{"v", 0}});
  EXPECT_FALSE(job.inspector(1).owes_end());
  EXPECT_THAT(Listed(job), ElementsAre("v"));
}

TEST(StallInspector, WhatIsSubmittedAnewDoesNotWaitOn) {
  Job job(Limits(60, 0));
  EXPECT_FALSE(job.inspector(1).Check(70 * kSecond, {{"w", 0}}));
  job.Answers(70 * kSecond, {{}, {{"w", 0}}, {}});
  EXPECT_FALSE(job.inspector(1).Check(72 * kSecond, {{"w", 71 * kSecond}}));
  ASSERT_TRUE(job.inspector(1).owes_end());
  job.TellEnd(1, 72 * kSecond, {{"w", 71 * kSecond}});
  EXPECT_TRUE(Listed(job).empty());
}

TEST(StallInspector, OfShortWaitsNobodyTells) {
  Job job(Limits(60, 0));
  for (int second = 0; second < 50; second += 25) {
    EXPECT_FALSE(job.inspector(1).Check((second + 20) * kSecond, {{"w", second * kSecond}}));
    job.Answers((second + 20) * kSecond, {{}, {{"w", second * kSecond}}, {}});
    EXPECT_FALSE(job.inspector(1).Check((second + 21) * kSecond, {}));
    EXPECT_FALSE(job.inspector(1).owes_end());
  }
}

TEST(StallInspector, OfWaitsThatNobodyHasAskedAboutNobodyTells) {
  Job job(Limits(60, 0));
  EXPECT_FALSE(job.inspector(1).Check(50 * kSecond, {{"w", 0}}));
  EXPECT_FALSE(job.inspector(1).Check(51 * kSecond, {}));
  EXPECT_FALSE(job.inspector(1).owes_end());
}

TEST(StallInspector, AnEndThatOvertakesAnswersIsHeeded) {
  Job job(Limits(60, 0));
  EXPECT_FALSE(job.inspector(1).Check(70 * kSecond, {{"w", 0}}));
  job.Answer(1, 70 * kSecond, {{"w", 0}});
  job.TellEnd(1, 71 * kSecond, {});
  job.Answer(0, 70 * kSecond, {});
  job.Answer(2, 70 * kSecond, {});
  EXPECT_TRUE(Listed(job).empty());
}

/// When several ranks ask, some answers to one of them are left over.
TEST(StallInspector, AnAnswerThatIsLeftOverSaysNothingOfALaterRequest) {
  Job job(Limits(60, 0));
  CaptureStderr();
  job.Answer(2, 60 * kSecond, {{"w", 0}});
  job.Answer(0, 120 * kSecond, {{"v", 0}});
  job.Answer(1, 120 * kSecond, {{"v", 0}});
  EXPECT_EQ(GetCapturedStderr(), "") << "rank 2 has not answered this time";
  job.Answer(2, 121 * kSecond, {{"v", 0}});
  EXPECT_TRUE(Listed(job).empty());
}

}  // namespace
}  // namespace weir
