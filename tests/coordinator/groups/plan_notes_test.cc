// What the rank that plans notes of its plans, for the run log.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "coordinator/engine/engine_impl.h"
#include "tests/coordinator/groups/group_steps.h"
#include "tests/coordinator/jobs/job.h"
#include "tests/temporary_folder.h"

namespace weir::plan_notes_test {
namespace {

constexpr int kMostTries = 200;  // Times ten steps; a busy machine makes searches long.

/// What this rank has planned, in order.
std::vector<std::shared_ptr<const PlanExplanation>> NotesOf(Engine& engine) {
  std::uint64_t number = 0;
  return dynamic_cast<EngineImpl&>(engine).gauges().plans.After(number);
}

/// Tells all ranks whether rank 0 has chosen.
bool HasChosen(Engine& engine) {
  std::int64_t chosen = engine.Explain().find(", chosen") == std::string::npos ? 0 : 1;
  engine.Wait(engine.Broadcast("chosen", {&chosen, DType::kInt64, Shape{1}}, 0));
  return chosen != 0;
}

TEST(PlanNotes, PlansOfAFileAreNotedWhereTheyAreRead) {
  const TemporaryFolder folder;
  Settings settings;
  settings.plan_filename = folder / "plan.json";
  settings.fusion_threshold_bytes = std::size_t{12} << 10;  // Two buckets.
  std::ofstream(settings.plan_filename)
      << R"({"model": [{"from_step": 2, "forms": "hd"}, {"from_step": 4, "forms": "cc"}]})";
  for (const int ranks : JobSizesFrom(2)) {
    RunJob(
        ranks,
        [&](Engine& engine) {
          const auto group = engine.Register(SpecOf(
              {{"compressor", "dgc"}, {"min_elements", "100"}, {"alternatives", "dense,fp16"}}));
          for (int step = 0; step < 6; ++step) Step(*group, GradientOf(engine.rank(), step));
          const auto notes = NotesOf(engine);
          ASSERT_EQ(notes.size(), engine.rank() == 0 ? 3u : 0u);
          if (notes.empty()) return;
          EXPECT_EQ(notes[0]->what, "dgc");
          EXPECT_EQ(notes[1]->from_step, 2);
          EXPECT_EQ(notes[1]->what, "dense (1 bucket), fp16 (1)");
          EXPECT_EQ(notes[1]->by, PlanExplanation::By::kFile);
          EXPECT_EQ(notes[1]->buckets[0].form, "fp16");
          EXPECT_EQ(notes[2]->from_step, 4);
          EXPECT_EQ(notes[2]->what, "dgc");
        },
        settings);
  }
}

TEST(PlanNotes, ASearchIsNotedAsWhatItTriesAndThenWithTheReason) {
  for (const int ranks : JobSizesFrom(2)) {
    RunJob(ranks, [&](Engine& engine) {
      const auto group = engine.Register(SpecOf({{"compressor", "auto"},
                                                 {"choices", "dense,fp16,dgc"},
                                                 {"density", "0.05"},
                                                 {"min_elements", "100"}}));
      for (int tries = 0; tries < kMostTries && !HasChosen(engine); ++tries) {
        for (int step = 0; step < 10; ++step) Step(*group, GradientOf(engine.rank(), step));
      }
      const auto notes = NotesOf(engine);
      ASSERT_EQ(notes.empty(), engine.rank() != 0);
      if (notes.empty()) return;
      const auto first =
          std::ranges::find_if(notes, [](const auto& note) { return note->settled; });
      ASSERT_TRUE(first != notes.end() && first - notes.begin() > 1);
      for (auto note = notes.begin(); note != first; ++note) {
        EXPECT_EQ((*note)->why, "tries " + (*note)->what);
        EXPECT_TRUE(note == notes.begin() || (*note)->from_step > (*(note - 1))->from_step);
      }
      EXPECT_GT((*first)->network_bytes_per_second.value_or(0), 0.0);
      EXPECT_EQ(
          std::ranges::count((*first)->considered, true, &PlanExplanation::Considered::chosen), 1);
      // Of more than two ranks, dgc may be divided among them, too.
      EXPECT_EQ((*first)->buckets[0].work.size(), ranks > 2 ? 4u : 3u);
    });
  }
}

}  // namespace
}  // namespace weir::plan_notes_test
