// Process sets: ranks that exchange among themselves, independent of all others.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "tests/coordinator/jobs/job.h"
#include "tests/coordinator/jobs/result.h"
#include "tests/coordinator/jobs/text_of.h"
#include "tests/coordinator/jobs/training.h"

namespace weir::process_set_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

class ProcessSets : public testing::TestWithParam<int> {
 protected:
  int ranks() const { return GetParam(); }
};

/// For jobs in which some ranks are no members.
class SetsOfSome : public ProcessSets {};
/// For jobs in which a set of two ranks is not the whole.
class SetsOfTwoAmongMore : public ProcessSets {};

bool Includes(const std::vector<int>& ranks, int rank) {
  return std::ranges::find(ranks, rank) != ranks.end();
}

/// All ranks but one, for each one: sets that overlap in every way.
std::vector<std::vector<int>> AllButOne(int size) {
  std::vector<std::vector<int>> sets;
  for (int without = 0; without < size && size > 1; ++without) {
    std::vector<int>& set = sets.emplace_back();
    for (int rank = 0; rank < size; ++rank) {
      if (rank != without) set.push_back(rank);
    }
  }
  return sets;
}

/// One value under a name that other sets use at the same time.
struct Sum {
  Engine& engine;
  std::vector<float> value;
  Handle handle;

  Sum(Engine& e, int set, const std::string& name = "x")
      : engine(e),
        value(1, static_cast<float>(1 << e.rank())),
        handle(e.Allreduce(name, View(), View(), {.op = ReduceOp::kSum, .process_set = set})) {}
  Sum(const Sum&) = delete;
  Sum& operator=(const Sum&) = delete;

  TensorView View() { return {value.data(), DType::kFloat32, Shape{1}}; }
  float Wait() {
    engine.Wait(handle);
    return value[0];
  }
};

float SumOver(const std::vector<int>& ranks) {
  return std::accumulate(ranks.begin(), ranks.end(), 0.0f,
                         [](float sum, int rank) { return sum + static_cast<float>(1 << rank); });
}

TEST_P(ProcessSets, HaveIdsThatCountUpAndRanksInOrder) {
  RunJob(ranks(), [&](Engine& engine) {
    EXPECT_EQ(engine.ProcessSetRanks(0).size(), static_cast<std::size_t>(ranks()));
    int expected = 0;
    for (std::vector<int> set : AllButOne(ranks())) {
      std::vector<int> reversed(set.rbegin(), set.rend());
      EXPECT_EQ(engine.AddProcessSet(reversed), ++expected);
      EXPECT_EQ(engine.ProcessSetRanks(expected), set);
    }
    if (expected == 0) return;
    engine.RemoveProcessSet(1);
    EXPECT_THAT(TextOf<InvalidArgument>([&] { engine.ProcessSetRanks(1); }),
                HasSubstr("Process set provided does not exist"));
    // The id is not given again.
    EXPECT_EQ(engine.AddProcessSet(AllButOne(ranks())[0]), expected + 1);
  });
}

TEST_P(ProcessSets, ReduceAmongTheirRanksWhateverTheOrderAndTheNames) {
  RunJob(ranks(), [&](Engine& engine) {
    const auto sets = AllButOne(ranks());
    std::vector<int> ids = {0};
    std::vector<std::vector<int>> members = {engine.ProcessSetRanks(0)};
    for (const auto& set : sets) {
      ids.push_back(engine.AddProcessSet(set));
      members.push_back(set);
    }
    std::vector<std::size_t> order(ids.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    for (int round = 0; round < 30; ++round) {
      // Another order on every rank.
      std::ranges::rotate(order, order.begin() + (engine.rank() + round) % ranks());
      std::map<std::size_t, std::unique_ptr<Sum>> sums;
      for (const std::size_t i : order) {
        if (Includes(members[i], engine.rank())) {
          sums[i] = std::make_unique<Sum>(engine, ids[i]);
        }
      }
      for (auto& [i, sum] : sums) EXPECT_EQ(sum->Wait(), SumOver(members[i])) << "set " << ids[i];
    }
  });
}

TEST_P(SetsOfSome, DoEveryOperation) {
  RunJob(ranks(), [&](Engine& engine) {
    const std::vector<int> set = AllButOne(ranks())[0];  // All but rank 0.
    const int id = engine.AddProcessSet(set);
    if (engine.rank() == 0) return;
    const auto size = static_cast<std::int64_t>(set.size());
    const std::int64_t place = engine.rank() - 1;
    const auto mine = static_cast<float>(engine.rank());
    std::vector<float> in(static_cast<std::size_t>(size), mine);
    const ConstTensorView view{in.data(), DType::kFloat32, Shape{size}};
    const auto floats = [](const Result& result) {
      std::vector<float> values(result.bytes.size() / sizeof(float));
      std::memcpy(values.data(), result.bytes.data(), result.bytes.size());
      return values;
    };
    std::vector<float> every_rank;
    for (const int rank : set) every_rank.push_back(static_cast<float>(rank));
    const float sum = std::accumulate(every_rank.begin(), every_rank.end(), 0.0f);

    Result gathered;
    engine.Wait(engine.Allgather("g", {&mine, DType::kFloat32, Shape{1}},
                                 gathered.For(DType::kFloat32), nullptr, id));
    EXPECT_EQ(floats(gathered), every_rank);
    Result exchanged;
    engine.Wait(engine.Alltoall("a", view, {}, exchanged.For(DType::kFloat32), nullptr, id));
    EXPECT_EQ(floats(exchanged), every_rank);
    Result scattered;
    engine.Wait(engine.Reducescatter("s", view, scattered.For(DType::kFloat32),
                                     {.op = ReduceOp::kSum, .process_set = id}));
    EXPECT_EQ(floats(scattered), std::vector<float>{sum});
    std::vector<float> averaged = in;
    const TensorView average{averaged.data(), DType::kFloat32, Shape{size}};
    const std::vector<Engine::ReduceTensor> group = {{average, average}};
    engine.Wait(engine.GroupedAllreduce("r", group, {.process_set = id}));
    EXPECT_EQ(averaged[0], sum / static_cast<float>(size));
    // The root is named as the job names it.
    float from_last = mine;
    engine.Wait(
        engine.Broadcast("b", {&from_last, DType::kFloat32, Shape{1}}, ranks() - 1, nullptr, id));
    EXPECT_EQ(from_last, static_cast<float>(ranks() - 1));
    engine.Wait(engine.Barrier("barrier", id));
    EXPECT_EQ(place, std::ranges::find(set, engine.rank()) - set.begin());
  });
}

TEST_P(SetsOfSome, RefuseWhoIsNoMemberAndWhatDoesNotExist) {
  RunJob(ranks(), [&](Engine& engine) {
    const int id = engine.AddProcessSet(AllButOne(ranks())[0]);
    const std::string unknown =
        "Process set provided does not exist, or has not been registered. (process set 7)";
    EXPECT_EQ(TextOf<InvalidArgument>([&] { Sum(engine, 7); }), unknown);
    EXPECT_EQ(TextOf<InvalidArgument>([&] { engine.Barrier("b", 7); }), unknown);
    EXPECT_EQ(TextOf<InvalidArgument>([&] { engine.RemoveProcessSet(7); }), unknown);
    EXPECT_EQ(TextOf<InvalidArgument>([&] { Training(engine, {}, "model", 7); }), unknown);
    if (engine.rank() == 0) {
      EXPECT_THAT(TextOf<InvalidArgument>([&] { Sum(engine, id); }),
                  AllOf(HasSubstr("Rank 0 is not a member of the provided process set."),
                        HasSubstr("process set 1 has the ranks [1")));
    } else {
      float value = 0;
      EXPECT_THAT(TextOf<InvalidArgument>([&] {
                    engine.Broadcast("b", {&value, DType::kFloat32, Shape{1}}, 0, nullptr, id);
                  }),
                  HasSubstr("from rank 0 in process set 1, which does not have it"));
    }
    EXPECT_EQ(Sum(engine, 0).Wait(), SumOver(engine.ProcessSetRanks(0)));
  });
}

TEST_P(ProcessSets, RefuseListsThatCannotBeMeant) {
  RunJob(ranks(), [&](Engine& engine) {
    const auto text = [&](const std::vector<int>& list) {
      return TextOf<InvalidArgument>([&] { engine.AddProcessSet(list); });
    };
    EXPECT_THAT(text({}), HasSubstr("at least one rank"));
    EXPECT_THAT(text({0, 0}), HasSubstr("rank 0 is there twice"));
    EXPECT_THAT(text({ranks()}), HasSubstr("rank " + std::to_string(ranks()) + " is impossible"));
    EXPECT_THAT(text({-1}), HasSubstr("rank -1 is impossible"));
    EXPECT_THAT(text(engine.ProcessSetRanks(0)),
                HasSubstr("process set 0, the whole job, has the ranks [0"));
    EXPECT_THAT(TextOf<InvalidArgument>([&] { engine.RemoveProcessSet(0); }),
                HasSubstr("cannot be removed"));
  });
}

TEST_P(SetsOfSome, ChangesThatDifferAreRefusedOnEveryRank) {
  RunJob(ranks(), [&](Engine& engine) {
    const bool odd = engine.rank() == ranks() - 1;
    EXPECT_THAT(TextOf<Mismatch>([&] { engine.AddProcessSet(std::vector<int>{odd ? 1 : 0}); }),
                AllOf(StartsWith("Mismatched changes of process sets: "),
                      HasSubstr("rank 0 has change=add [0]"),
                      HasSubstr("rank " + std::to_string(ranks() - 1) + " has change=add [1]")));
    // Nothing has happened.
    EXPECT_EQ(engine.AddProcessSet(std::vector<int>{1}), 1);
  });
}

TEST_P(SetsOfTwoAmongMore, OneThatIsInUseIsNotRemoved) {
  RunJob(ranks(), [&](Engine& engine) {
    const int id = engine.AddProcessSet(std::vector<int>{0, 1});
    const auto removal = [&] {
      try {
        engine.RemoveProcessSet(id);
      } catch (const Mismatch& error) {
        return "elsewhere: " + std::string(error.what());
      } catch (const InvalidArgument& error) {
        return std::string(error.what());
      }
      return std::string("was removed");
    };
    // Rank 1 has not come yet.
    std::unique_ptr<Sum> sum;
    if (engine.rank() == 0) sum = std::make_unique<Sum>(engine, id);
    EXPECT_THAT(removal(), AllOf(StartsWith(engine.rank() == 0 ? "process" : "elsewhere: "),
                                 HasSubstr("process set 1 cannot be removed: 'x' is still being "
                                           "processed on rank 0; wait for it first")));
    if (engine.rank() == 1) sum = std::make_unique<Sum>(engine, id);
    if (sum) {
      EXPECT_EQ(sum->Wait(), 3.0f);
    }
    {
      std::unique_ptr<Training> training;
      if (engine.rank() < 2) training = std::make_unique<Training>(engine, Options{}, "model", id);
      EXPECT_THAT(removal(), HasSubstr("the gradient group 'model' uses it on rank "));
      if (training) training->Steps(2);
    }
    EXPECT_EQ(removal(), "was removed");
  });
}

/// Messages of a set that is gone must not reach the one that comes after it.
TEST_P(ProcessSets, ComeAndGo) {
  RunJob(ranks(), [&](Engine& engine) {
    for (int round = 0; round < 20; ++round) {
      const int rank = round % ranks();
      std::vector<std::vector<int>> sets = AllButOne(ranks());
      if (sets.empty()) return;
      const std::vector<int>& set = sets[static_cast<std::size_t>(rank)];
      const int id = engine.AddProcessSet(set);
      EXPECT_EQ(id, round + 1);
      if (engine.rank() != rank) {
        for (int i = 0; i < 3; ++i) {
          EXPECT_EQ(Sum(engine, id, "x" + std::to_string(i)).Wait(), SumOver(set));
        }
      }
      engine.RemoveProcessSet(id);
    }
  });
}

TEST_P(SetsOfTwoAmongMore, ErrorsNameRanksOfTheJob) {
  RunJob(ranks(), [&](Engine& engine) {
    const int id = engine.AddProcessSet(std::vector<int>{1, 2});
    if (engine.rank() != 1 && engine.rank() != 2) return;
    std::vector<float> values(8);
    const Shape shape{engine.rank()};
    const TensorView view{values.data(), DType::kFloat32, shape};
    try {
      engine.Wait(engine.Allreduce("x", view, view, {.process_set = id}));
      ADD_FAILURE() << "nobody noticed";
    } catch (const Mismatch& error) {
      EXPECT_EQ(error.context().ranks, (std::vector<int>{1, 2}));
      EXPECT_THAT(error.what(), HasSubstr("rank 1 has [1], rank 2 has [2]"));
    }
    EXPECT_EQ(Sum(engine, id).Wait(), 6.0f);
  });
}

/// Two sets train beside each other to the bits that jobs of their own would have, on every route,
/// with a gate and without.
TEST_P(SetsOfTwoAmongMore, TrainLikeJobsOfTheirOwn) {
  for (const bool gated : {false, true}) {
    Options options = DgcOptions("nesterov", 10);
    if (gated) options["clip_norm"] = "0.5";
    std::map<int, std::uint64_t> alone;
    RunLocal(2, [&](Engine& engine) {
      Training training(engine, options);
      training.Steps(20);
      if (engine.rank() == 0) alone[0] = training.Hash();
    });
    const auto together = Results(RunJob, ranks(), [&](Engine& engine) {
      const int first = engine.AddProcessSet(std::vector<int>{0, 1});
      std::vector<int> others;
      for (int rank = 2; rank < ranks(); ++rank) others.push_back(rank);
      const int second = engine.AddProcessSet(others);
      Training training(engine, options, "model", engine.rank() < 2 ? first : second);
      training.Steps(20);
      return training.Hash();
    });
    for (const auto& [rank, hash] : together) {
      if (rank < 2) {
        EXPECT_EQ(hash, alone[0]) << "rank " << rank;
      } else {
        EXPECT_NE(hash, alone[0]);
      }
    }
  }
}

TEST_P(SetsOfTwoAmongMore, WhatASetHasNotAgreedOnFailsWhenTheJobIsLeft) {
  RunJob(ranks(), [&](Engine& engine) {
    const int id = engine.AddProcessSet(std::vector<int>{0, 1});
    if (engine.rank() != 0) return;  // Leaves: the engine is destroyed.
    Sum sum(engine, id);
    EXPECT_THAT(TextOf<ShutDown>([&] { sum.Wait(); }), HasSubstr("has been shut down"));
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, ProcessSets, testing::ValuesIn(JobSizes()),
                         testing::PrintToStringParamName());
// Over MPI a job has the size it was started with.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(SetsOfSome);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(SetsOfTwoAmongMore);
INSTANTIATE_TEST_SUITE_P(Ranks, SetsOfSome, testing::ValuesIn(JobSizesFrom(2)),
                         testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(Ranks, SetsOfTwoAmongMore, testing::ValuesIn(JobSizesFrom(3)),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace weir::process_set_test
