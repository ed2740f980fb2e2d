#include "tests/plugins/checkpoint.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <tuple>
#include <vector>

#include "weir/engine.h"

namespace weir::checkpoint_test {
namespace {

struct Kind {
  const char* name;
  MakeOptions options;
};

OptimizerOptions Plain() {
  OptimizerOptions options;
  options.momentum = 0.9f;
  options.nesterov = true;
  options.weight_decay = 0.01f;
  return options;
}

/// Matrices are compressed ever more while the checkpoint is taken, the bias travels dense.
OptimizerOptions Dgc() {
  OptimizerOptions options = Plain();
  options.compression = {
      {"compressor", "dgc"}, {"density", "0.05"}, {"warmup_steps", "10"}, {"min_elements", "0"}};
  return options;
}

/// Still before the hand-off: momentum is that of the mean.
OptimizerOptions DgcDensePhase() {
  OptimizerOptions options = Dgc();
  options.compression["rampup_begin_step"] = "9";
  return options;
}

/// Its residual is in units of the learning rate of the step before.
OptimizerOptions TopKWithErrorFeedback() {
  OptimizerOptions options;
  options.compression = {
      {"compressor", "topk"}, {"k", "0.1"}, {"ef", "vanilla"}, {"min_elements", "0"}};
  return options;
}

const std::vector<Kind>& Kinds() {
  static const std::vector<Kind> kinds = {{"Plain", Plain},
                                          {"Dgc", Dgc},
                                          {"DgcDensePhase", DgcDensePhase},
                                          {"TopK", TopKWithErrorFeedback}};
  return kinds;
}

/// Identity 9, but for the kill.
class Checkpoints : public testing::TestWithParam<std::tuple<Kind, int>> {};

TEST_P(Checkpoints, GoOnAsIfNeverStopped) {
  const auto& [kind, ranks] = GetParam();
  const Checkpoint whole = Train(ranks, kind.options, 0, 16);
  const Checkpoint half = Train(ranks, kind.options, 0, 7);
  const Checkpoint resumed = Train(ranks, kind.options, 7, 16, &half);
  EXPECT_EQ(resumed.values, whole.values);
  EXPECT_TRUE(resumed.files == whole.files) << "the whole state, bit for bit";
}

INSTANTIATE_TEST_SUITE_P(All, Checkpoints,
                         testing::Combine(testing::ValuesIn(Kinds()), testing::Values(1, 2, 3)),
                         [](const auto& each) {
                           return std::string(std::get<0>(each.param).name) + "On" +
                                  std::to_string(std::get<1>(each.param));
                         });

struct Change {
  int from;
  int to;
};

class ChangedRanks : public testing::TestWithParam<std::tuple<Kind, Change>> {};

TEST_P(ChangedRanks, StayReplicasOfEachOther) {
  const auto& [kind, change] = GetParam();
  const Checkpoint half = Train(change.from, kind.options, 0, 7);
  const Checkpoint loaded = Train(change.to, kind.options, 7, 7, &half);
  for (const auto& values : loaded.values) EXPECT_EQ(values, half.values.front());
  const Checkpoint resumed = Train(change.to, kind.options, 7, 12, &half);
  for (const auto& values : resumed.values) EXPECT_EQ(values, resumed.values.front());
}

INSTANTIATE_TEST_SUITE_P(All, ChangedRanks,
                         testing::Combine(testing::ValuesIn(Kinds()),
                                          testing::Values(Change{1, 3}, Change{2, 3}, Change{3, 1},
                                                          Change{4, 3})),
                         [](const auto& each) {
                           const Change change = std::get<1>(each.param);
                           return std::string(std::get<0>(each.param).name) + "From" +
                                  std::to_string(change.from) + "To" + std::to_string(change.to);
                         });

}  // namespace
}  // namespace weir::checkpoint_test
