// More names than slots: nothing is lost or mixed up, memory stays bounded, and
// current names become fast again.
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include "coordinator/engine/engine_impl.h"
#include "tests/coordinator/jobs/job.h"
#include "tests/coordinator/jobs/result.h"

namespace weir {
namespace {

constexpr int kSlots = 4;

class Eviction : public testing::TestWithParam<int> {
 protected:
  int ranks() const { return GetParam(); }
  /// As RunJob, with few slots.
  void Run(const std::function<void(EngineImpl&)>& body, int slots = kSlots) const {
    Settings settings;
    settings.cache_capacity = slots;
    RunJob(
        ranks(), [&](Engine& engine) { body(dynamic_cast<EngineImpl&>(engine)); }, settings);
  }
};

/// Operations that exist once the network thread has handled all that has ended.
std::size_t Kept(EngineImpl& engine) {
  engine.network_totals();
  return engine.operations();
}

/// One sum over ranks under way.
class Sum {
 public:
  Sum(EngineImpl& engine, const std::string& name, std::size_t elements, float value)
      : engine_(&engine),
        name_(name),
        expected_(value * static_cast<float>(engine.size())),
        values_(elements, value) {
    const TensorView view = ViewOf(std::span<float>(values_));
    handle_ = engine.Allreduce(name, view, view, {.op = ReduceOp::kSum});
  }
  void Expect() {
    engine_->Wait(handle_);
    EXPECT_EQ(values_, std::vector<float>(values_.size(), expected_)) << name_;
  }

 private:
  EngineImpl* engine_;
  std::string name_;
  float expected_;
  std::vector<float> values_;
  Handle handle_ = kNoHandle;
};

void SumOne(EngineImpl& engine, const std::string& name, float value) {
  Sum(engine, name, 3, value).Expect();
}

TEST_P(Eviction, AHundredNamesInAnyOrderAgainAndAgain) {
  Run([](EngineImpl& engine) {
    constexpr int kNames = 100;
    const std::uint32_t seed = Common(engine, std::random_device()());
    if (engine.rank() == 0) std::cout << "seed " << seed << "\n";
    std::mt19937 common(seed), own(seed + 1 + static_cast<unsigned>(engine.rank()));
    for (int round = 0; round < 60; ++round) {
      // The same names on all ranks, some of them often, in an order of its own on each.
      std::vector<int> names;
      const auto count = 1 + common() % 12;
      while (names.size() < count) {
        const auto name = static_cast<int>(common() % (common() % 2 == 0 ? kNames : 6));
        if (std::ranges::find(names, name) == names.end()) names.push_back(name);
      }
      // A shape changes now and then, which asks for a slot anew.
      const std::size_t elements = 1 + common() % 2 * 5000;
      std::ranges::shuffle(names, own);
      std::vector<Sum> sums;
      sums.reserve(names.size());
      for (const int name : names) {
        sums.emplace_back(engine, "n" + std::to_string(name), elements,
                          static_cast<float>(name + round));
      }
      std::ranges::shuffle(sums, own);
      for (Sum& sum : sums) sum.Expect();
      ASSERT_LE(Kept(engine), static_cast<std::size_t>(kSlots));
    }
  });
}

TEST_P(Eviction, NamesThatNeverComeBackLeaveTheFastPathToThoseThatDo) {
  Run([](EngineImpl& engine) {
    const EngineGauges& gauges = engine.gauges();
    for (int i = 0; i < 50; ++i) SumOne(engine, "allreduce.noname." + std::to_string(i), 1.0f);
    EXPECT_LE(Kept(engine), static_cast<std::size_t>(kSlots));
    const auto step = [&](int round) {
      for (int i = 0; i < kSlots; ++i) {
        SumOne(engine, "gradient " + std::to_string(i), static_cast<float>(i + round));
      }
    };
    for (int round = 0; round < 5; ++round) step(round);
    const std::uint64_t slow = gauges.slow_rounds;
    for (int round = 0; round < 10; ++round) step(round);
    EXPECT_EQ(gauges.slow_rounds, slow);
    EXPECT_EQ(Kept(engine), static_cast<std::size_t>(kSlots));
  });
}

TEST_P(Eviction, EveryKindOfOperationTakesTheFastPathOnceItIsKnown) {
  Run([](EngineImpl& implementation) {
    Engine& engine = implementation;
    const auto all = [&] {
      std::vector<float> values(4, 1.0f), more(4, 1.0f);
      const TensorView view = ViewOf(std::span<float>(values)),
                       other = ViewOf(std::span<float>(more));
      std::vector<float> gathered;
      const AllocateOutput allocate = [&](const Shape& shape, auto) -> void* {
        gathered.resize(static_cast<std::size_t>(shape.elements()));
        return gathered.data();
      };
      const std::vector<Engine::ReduceTensor> group = {{view, view}, {other, other}};
      engine.Wait(engine.Broadcast("broadcast", view, 0));
      engine.Wait(engine.Allgather("allgather", view, allocate));
      engine.Wait(engine.GroupedAllreduce("group", group));
      engine.Wait(engine.Barrier("barrier"));
    };
    all();
    const std::uint64_t slow = implementation.gauges().slow_rounds;
    for (int round = 0; round < 5; ++round) all();
    EXPECT_EQ(implementation.gauges().slow_rounds, slow);
  });
}

// Rank 0, which decides, cannot know that another rank waits with the slot's bit set.
TEST_P(Eviction, ARankThatWaitsOnASlotThatIsTakenAsksAgain) {
  Run(
      [](EngineImpl& engine) {
        SumOne(engine, "late", 1.0f);
        std::vector<Sum> early;
        early.reserve(1);
        if (engine.rank() != 0) early.emplace_back(engine, "late", 3, 2.0f);
        for (int i = 0; i < 20; ++i) SumOne(engine, "other " + std::to_string(i), 3.0f);
        if (engine.rank() == 0) early.emplace_back(engine, "late", 3, 2.0f);
        early.front().Expect();
        SumOne(engine, "late", 4.0f);
        EXPECT_LE(Kept(engine), 1u);
      },
      /*slots=*/1);
}

// And the other way round it leaves the slot alone.
TEST_P(Eviction, WhatRankZeroWaitsForKeepsItsSlot) {
  Run(
      [](EngineImpl& engine) {
        SumOne(engine, "late", 1.0f);
        std::vector<Sum> early;
        early.reserve(1);
        if (engine.rank() == 0) early.emplace_back(engine, "late", 3, 2.0f);
        engine.Wait(engine.Barrier("rank 0 waits", 0));
        for (int i = 0; i < 20; ++i) SumOne(engine, "other " + std::to_string(i), 3.0f);
        const std::uint64_t slow = engine.gauges().slow_rounds;
        if (engine.rank() != 0) early.emplace_back(engine, "late", 3, 2.0f);
        early.front().Expect();
        if (engine.size() == 1) return;  // Has waited for nobody.
        EXPECT_EQ(engine.gauges().slow_rounds, slow);
      },
      /*slots=*/1);
}

TEST_P(Eviction, WithoutACacheNothingIsKept) {
  Run(
      [](EngineImpl& engine) {
        for (int round = 0; round < 10; ++round) {
          SumOne(engine, "x", static_cast<float>(round));
          EXPECT_EQ(Kept(engine), 0u);
        }
      },
      /*slots=*/0);
}

TEST_P(Eviction, AnOperationThatTheRanksDisagreedOnIsNotKept) {
  Run([&](EngineImpl& engine) {
    if (engine.size() == 1) return;  // One rank cannot disagree.
    for (int i = 0; i < 10; ++i) {
      std::vector<float> values(engine.rank() == 0 ? 3 : 4);
      const TensorView view = ViewOf(std::span<float>(values));
      const Handle handle = engine.Allreduce("odd " + std::to_string(i), view, view, {});
      EXPECT_THROW(engine.Wait(handle), Mismatch);
    }
    EXPECT_EQ(Kept(engine), 0u);
  });
}

TEST_P(Eviction, LeavesGroupsOfGradientsAlone) {
  Run([](EngineImpl& engine) {
    const auto group =
        engine.Register({.name = "g", .tensors = {{.name = "w", .shape = Shape{20, 10}}}});
    for (int step = 0; step < 20; ++step) {
      std::vector<float> gradient(200, static_cast<float>(step + engine.rank())), update(200);
      group->BeginStep({});
      group->Submit(0, {gradient.data(), DType::kFloat32, Shape{20, 10}},
                    {update.data(), DType::kFloat32, Shape{20, 10}});
      for (int i = 0; i < 3; ++i) {
        SumOne(engine, "step " + std::to_string(3 * step + i), static_cast<float>(i));
      }
      group->EndStep();
      group->WaitStep();
      const float mean = static_cast<float>(step) + static_cast<float>(engine.size() - 1) / 2.0f;
      EXPECT_EQ(update, std::vector<float>(200, mean)) << step;
    }
    EXPECT_LE(Kept(engine), static_cast<std::size_t>(kSlots) + 1) << "the registration is kept";
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, Eviction, testing::ValuesIn(JobSizes()),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace weir
