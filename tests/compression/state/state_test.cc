#include "compression/state/state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <memory>
#include <random>

#include "compression/make_compressor.h"
#include "compression/options/registry.h"
#include "tests/compression/test_compressor.h"
#include "weir/error.h"

namespace weir {
namespace {

using Floats = std::vector<float>;

/// A small job of one rank: two tensors with momentum and error feedback.
class Job {
 public:
  Job() {
    for (const char* name : {"layer1.weight", "layer2.weight"}) {
      compressors_.push_back(MakeCompressor(CompressionOptions{{"compressor", "topk"},
                                                               {"k", "0.1"},
                                                               {"ef", "vanilla"},
                                                               {"momentum", "nesterov"},
                                                               {"momentum_mu", "0.9"},
                                                               {"min_elements", "0"}},
                                            TensorSpec{name, Shape{kElements}}));
      named_.push_back({name, compressors_.back().get()});
    }
  }

  /// Returns the job's payloads of this step.
  std::vector<std::byte> Step(std::int64_t step) {
    std::mt19937 random(static_cast<unsigned>(step));
    std::normal_distribution<float> normal;
    std::vector<std::byte> sent;
    for (const auto& compressor : compressors_) {
      Floats gradient(kElements);
      for (float& value : gradient) value = normal(random);
      const auto payload = test::Send(*compressor, {.step = step, .density = 0.1}, gradient);
      sent.insert(sent.end(), payload.begin(), payload.end());
    }
    return sent;
  }

  std::span<const NamedCompressor> named() const { return named_; }

 private:
  static constexpr std::int64_t kElements = 300;
  std::vector<std::unique_ptr<Compressor>> compressors_;
  std::vector<NamedCompressor> named_;
};

TEST(State, AResumedJobSendsTheSameBits) {
  Job never_stopped;
  for (int step = 0; step < 10; ++step) never_stopped.Step(step);
  const std::vector<std::byte> saved = Serialize(Collect(never_stopped.named()));

  Job resumed;
  resumed.Step(99);  // Leaves other state behind, which must go.
  Restore(Deserialize(saved), resumed.named());
  for (int step = 10; step < 20; ++step) {
    EXPECT_EQ(resumed.Step(step), never_stopped.Step(step)) << step;
  }
}

SavedState Small() {
  return {.ranks = 3,
          .rank = 1,
          .step = 1234567890123,
          .arrays = {{"w", "error", {1.5f, -0.0f, std::nanf("")}}, {"b", "momentum", {}}}};
}

TEST(State, SerializedBitsComeBack) {
  const SavedState state = Small();
  const SavedState back = Deserialize(Serialize(state));
  EXPECT_EQ(back.ranks, 3);
  EXPECT_EQ(back.rank, 1);
  EXPECT_EQ(back.step, state.step);
  ASSERT_EQ(back.arrays.size(), 2u);
  EXPECT_EQ(back.arrays[1], state.arrays[1]);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(std::bit_cast<std::uint32_t>(back.arrays[0].values[i]),
              std::bit_cast<std::uint32_t>(state.arrays[0].values[i]));
  }
}

TEST(State, EveryFlippedBitAndEveryCutIsCorrupt) {
  const std::vector<std::byte> bytes = Serialize(Small());
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    std::vector<std::byte> flipped = bytes;
    flipped[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
    EXPECT_THROW(Deserialize(flipped), Corrupt) << bit;
  }
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_THROW(Deserialize(std::span(bytes).first(size)), Corrupt) << size;
  }
}

TEST(State, AnArrayTwiceIsCorrupt) {
  SavedState state = Small();
  state.arrays.push_back(state.arrays[0]);
  EXPECT_THROW(Deserialize(Serialize(state)), Corrupt);
}

TEST(State, WhatDoesNotFitTheJobIsRefusedAndChangesNothing) {
  Job job;
  job.Step(0);
  const SavedState before = Collect(job.named());
  const auto expect_refused = [&](const SavedState& state, const std::string& why) {
    try {
      Restore(state, job.named());
      ADD_FAILURE() << "accepted";
    } catch (const InvalidArgument& error) {
      EXPECT_THAT(error.what(), testing::HasSubstr(why));
    }
    EXPECT_EQ(Collect(job.named()), before);
  };
  SavedState state = before;
  for (SavedArray& array : state.arrays) array.values.assign(array.values.size(), 7.0f);
  SavedState changed = state;
  changed.arrays.pop_back();
  expect_refused(changed, "no array \"error\" of tensor \"layer2.weight\"");
  changed = state;
  changed.arrays[3].values.pop_back();
  expect_refused(changed, "299 elements, but the tensor has 300");
  changed = state;
  changed.arrays.push_back({"gone", "error", {1.0f}});
  expect_refused(changed, "tensor \"gone\"");
}

std::vector<SavedState> RanksOf(const std::vector<Floats>& values) {
  std::vector<SavedState> states;
  for (std::size_t rank = 0; rank < values.size(); ++rank) {
    states.push_back({.ranks = static_cast<int>(values.size()),
                      .rank = static_cast<int>(rank),
                      .step = 5,
                      .arrays = {{"w", "velocity", values[rank]}}});
  }
  return states;
}

/// sum over ranks of v, divided by their number.
double OwedPerRank(const std::vector<SavedState>& states) {
  double sum = 0;
  for (const SavedState& state : states) sum += state.arrays[0].values[0];
  return sum / static_cast<double>(states.size());
}

TEST(Remap, KeepsWhatTheModelIsOwed) {
  const std::vector<SavedState> old_states = RanksOf({{1}, {20}, {300}, {4000}});
  for (const std::vector<int>& origins :
       std::vector<std::vector<int>>{{0, 1, 2},
                                     {0, 1},
                                     {3},
                                     {2, 0},
                                     {0, 1, 2, 3, kNewRank, kNewRank},
                                     {kNewRank, 1, 3},
                                     {kNewRank},
                                     {3, 2, 1, 0}}) {
    std::vector<SavedState> states;
    for (int rank = 0; rank < static_cast<int>(origins.size()); ++rank) {
      states.push_back(Remap(old_states, origins, rank));
      EXPECT_EQ(states.back().rank, rank);
      EXPECT_EQ(states.back().ranks, static_cast<int>(origins.size()));
    }
    EXPECT_NEAR(OwedPerRank(states), OwedPerRank(old_states), 1e-3);
  }
}

TEST(Remap, FollowsTheFormula) {
  const std::vector<SavedState> old_states = RanksOf({{1}, {20}, {300}, {4000}});
  const std::vector<int> origins = {0, 2};
  EXPECT_FLOAT_EQ(Remap(old_states, origins, 0).arrays[0].values[0], 0.5f * (1 + 4020.0f / 2));
  EXPECT_FLOAT_EQ(Remap(old_states, origins, 1).arrays[0].values[0], 0.5f * (300 + 4020.0f / 2));
}

/// The momentum of what travels dense: replicas that held it alike must go on alike.
TEST(Remap, WhatAllRanksHeldAlikeEveryNewRankHolds) {
  const std::vector<SavedState> old_states = RanksOf({{0.1f, -7.0f}, {0.1f, -7.0f}});
  for (const std::vector<int>& origins :
       std::vector<std::vector<int>>{{0, 1, kNewRank}, {1}, {kNewRank, kNewRank, 0}}) {
    for (int rank = 0; rank < static_cast<int>(origins.size()); ++rank) {
      EXPECT_EQ(Remap(old_states, origins, rank).arrays, old_states[0].arrays) << "rank " << rank;
    }
  }
}

TEST(Remap, TheSameRanksGetTheSameBits) {
  const std::vector<SavedState> old_states = RanksOf({{-0.0f, 1e-45f}, {3.0f, -7.0f}});
  const std::vector<int> same = {0, 1};
  for (int rank = 0; rank < 2; ++rank) {
    const Floats values = Remap(old_states, same, rank).arrays[0].values;
    for (std::size_t i = 0; i < 2; ++i) {
      EXPECT_EQ(std::bit_cast<std::uint32_t>(values[i]),
                std::bit_cast<std::uint32_t>(
                    old_states[static_cast<std::size_t>(rank)].arrays[0].values[i]));
    }
  }
}

TEST(Remap, RefusesWhatCannotBe) {
  std::vector<SavedState> old_states = RanksOf({{1}, {2}});
  const auto remap = [&old_states](std::vector<int> origins, int rank) {
    return Remap(old_states, origins, rank);
  };
  EXPECT_THROW(remap({0, 0}, 0), InvalidArgument);
  EXPECT_THROW(remap({0, 2}, 0), InvalidArgument);
  EXPECT_THROW(remap({-2}, 0), InvalidArgument);
  EXPECT_THROW(remap({0}, 1), InvalidArgument);
  EXPECT_THROW(remap({}, 0), InvalidArgument);
  old_states[1].step = 6;
  EXPECT_THROW(remap({0}, 0), InvalidArgument);
  old_states[1].step = 5;
  old_states[1].arrays[0].tensor = "other";
  EXPECT_THROW(remap({0}, 0), InvalidArgument);
  std::swap(old_states[0], old_states[1]);
  EXPECT_THROW(remap({0}, 0), InvalidArgument);
}

}  // namespace
}  // namespace weir
