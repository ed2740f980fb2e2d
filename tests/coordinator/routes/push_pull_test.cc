// Gradients that go to servers and back (route=push_pull). Replicas, resumed trainings, joins and
// damaged frames are tested with every other route.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "compression/state/state.h"
#include "coordinator/engine/local_job.h"
#include "tests/coordinator/jobs/job.h"
#include "tests/coordinator/jobs/text_of.h"
#include "weir/error.h"

namespace weir::push_pull_test {
namespace {

using testing::HasSubstr;
using Options = std::map<std::string, std::string>;

constexpr std::size_t kRows = 7;
constexpr std::size_t kColumns = 43;
constexpr std::size_t kElements = kRows * kColumns;
const Shape kShape{kRows, kColumns};

Options PushPull(Options options, const std::string& partition_bytes) {
  options["route"] = "push_pull";
  options["partition_bytes"] = partition_bytes;
  return options;
}

float GradientOf(int rank, int step, std::size_t i) {
  const std::size_t seed = 7 * static_cast<std::size_t>(rank) + 13 * static_cast<std::size_t>(step);
  return static_cast<float>((i * 31 + seed * 17) % 101) / 8.0f - 6.0f;
}

class PushPullTest : public testing::TestWithParam<int> {
 protected:
  int ranks() const { return GetParam(); }
};

/// A matrix and a vector, summed over the steps so far.
class Sums {
 public:
  Sums(Engine& engine, const Options& compression)
      : engine_(engine),
        group_(engine.Register(
            {.name = "g",
             .tensors = {{.name = "w", .shape = kShape}, {.name = "b", .shape = Shape{5}}},
             .compression = compression})) {}

  void Steps(int count) {
    for (int i = 0; i < count; ++i) Step();
  }
  void Step() {
    const auto step = static_cast<int>(group_->next_step());
    for (std::size_t i = 0; i < kElements; ++i) {
      gradient_[i] = GradientOf(engine_.rank(), step, i);
      for (int r = 0; r < engine_.size(); ++r) contributed_[i] += GradientOf(r, step, i);
    }
    group_->BeginStep({});
    group_->Submit(0, {gradient_.data(), DType::kFloat32, kShape},
                   {update_.data(), DType::kFloat32, kShape});
    group_->EndStep();
    group_->WaitStep();
    for (std::size_t i = 0; i < kElements; ++i) applied_[i] += update_[i];
  }
  const std::vector<float>& update() const { return update_; }
  const std::vector<double>& applied() const { return applied_; }
  const std::vector<double>& contributed() const { return contributed_; }
  std::string saved() const {
    std::ostringstream out;
    group_->Save(out);
    return out.str();
  }
  void Load(const std::vector<std::string>& states) {
    std::vector<std::istringstream> streams(states.begin(), states.end());
    std::vector<std::istream*> files;
    for (std::istringstream& stream : streams) files.push_back(&stream);
    group_->Load(files);
  }

 private:
  Engine& engine_;
  std::vector<float> gradient_ = std::vector<float>(kElements);
  std::vector<float> update_ = std::vector<float>(kElements);
  std::vector<double> applied_ = std::vector<double>(kElements);
  std::vector<double> contributed_ = std::vector<double>(kElements);  ///< By all ranks.
  std::unique_ptr<GradientGroup> group_;
};

// From parts of one element to one that the whole tensor does not fill.
TEST_P(PushPullTest, AnyPartitionGivesTheMeanInRankOrder) {
  for (const std::string bytes : {"4", "7", "100", "1204", "4096000"}) {
    SCOPED_TRACE(bytes);
    RunJob(ranks(), [&](Engine& engine) {
      Sums sums(engine, PushPull({{"compressor", "dense"}}, bytes));
      sums.Steps(3);
      for (std::size_t i = 0; i < kElements; ++i) {
        float sum = 0.0f;
        for (int r = 0; r < engine.size(); ++r) sum += GradientOf(r, 2, i);
        EXPECT_EQ(sums.update()[i], sum / static_cast<float>(engine.size())) << i;
      }
    });
  }
}

/// Adds what a rank remembers to `kept`, where it belongs; a server's residual is of the mean.
/// Returns how much that is, in magnitude.
double AddKept(const SavedState& state, int ranks, std::vector<double>& kept) {
  double magnitude = 0.0;
  std::map<std::string, std::size_t> begins;
  std::size_t begin = 0;
  for (const SavedArray& array : state.arrays) {
    const bool served = array.tensor.ends_with(" at its server");
    if (!array.tensor.starts_with("w#")) continue;
    const std::string part = array.tensor.substr(0, array.tensor.find(' '));
    if (!served) begins.emplace(part, std::exchange(begin, begin + array.values.size()));
    for (std::size_t i = 0; i < array.values.size(); ++i) {
      const auto value = static_cast<double>(array.values[i]);
      kept.at(begins.at(part) + i) += served ? ranks * value : value;
      if (served) magnitude += std::abs(value);
    }
  }
  EXPECT_EQ(begin, kept.size());
  return magnitude;
}

// Nothing is lost on either way: what was applied, and what ranks and servers keep, is what ranks
// have contributed.
TEST_P(PushPullTest, WhatIsNotSentIsKeptByRanksAndServers) {
  const Options topk = {
      {"compressor", "topk"}, {"k", "0.1"}, {"ef", "vanilla"}, {"min_elements", "1"}};
  Options onebit = {
      {"compressor", "onebit"}, {"scaling", "true"}, {"ef", "vanilla"}, {"min_elements", "1"}};
  const Options dgc = {{"compressor", "dgc"},
                       {"momentum", "none"},
                       {"density", "0.1"},
                       {"min_elements", "1"},
                       {"policy", "always"}};
  for (const Options& options : {topk, onebit, dgc}) {
    SCOPED_TRACE(testing::PrintToString(options));
    RunJob(ranks(), [&](Engine& engine) {
      Sums sums(engine, PushPull(options, "400"));  // Four parts.
      sums.Steps(20);
      std::vector<double> kept(kElements);
      const std::string bytes = sums.saved();
      const SavedState state = Deserialize(std::as_bytes(std::span(bytes)));
      const double served = AddKept(state, engine.size(), kept);
      // The mean of several ranks has more entries than one sends.
      EXPECT_EQ(served > 0.0, engine.size() > 1 && engine.rank() < 4) << "of " << engine.rank();
      const TensorView view{kept.data(), DType::kFloat64, Shape{kElements}};
      engine.Wait(engine.Allreduce("kept", ConstTensorView{view.data, view.dtype, view.shape}, view,
                                   {.op = ReduceOp::kSum}));
      for (std::size_t i = 0; i < kElements; ++i) {
        EXPECT_NEAR(kept[i], sums.contributed()[i] - engine.size() * sums.applied()[i],
                    1e-2 * engine.size())
            << i;
      }
    });
  }
}

TEST_P(PushPullTest, ItsTrafficIsAPayloadThereAndOneBack) {
  const Options onebit = {{"compressor", "onebit"}, {"min_elements", "1"}};
  RunJob(ranks(), [&](Engine& engine) {
    const auto bytes_of = [&](const Options& options) {
      const auto group = engine.Register(
          {.name = "t", .tensors = {{.name = "w", .shape = kShape}}, .compression = options});
      group->BeginStep({});
      group->EndStep();
      return group->WaitStep().wire_bytes;
    };
    const std::uint64_t frame = bytes_of(onebit);
    const std::uint64_t here = bytes_of(PushPull(onebit, "4096000"));
    EXPECT_EQ(here, frame);  // Rank 0 answers, the others push.
  });
}

/// Rest that the model is still owed, in the mean, as the ranks and servers of a job keep it.
std::vector<double> Owed(const std::vector<std::string>& states) {
  std::vector<double> owed(kElements);
  for (const std::string& bytes : states) {
    AddKept(Deserialize(std::as_bytes(std::span(bytes))), static_cast<int>(states.size()), owed);
  }
  for (double& value : owed) value /= static_cast<double>(states.size());
  return owed;
}

TEST(PushPull, WhatServersKeepGoesToTheServersOfAJobOfAnotherSize) {
  const Options topk = PushPull(
      {{"compressor", "topk"}, {"k", "0.1"}, {"ef", "vanilla"}, {"min_elements", "1"}}, "200");
  std::vector<std::string> before(2);
  RunLocal(2, [&](Engine& engine) {
    Sums sums(engine, topk);
    sums.Steps(5);
    before[static_cast<std::size_t>(engine.rank())] = sums.saved();
  });
  std::vector<std::string> after(3);
  RunLocal(3, [&](Engine& engine) {
    Sums sums(engine, topk);
    sums.Load(before);
    after[static_cast<std::size_t>(engine.rank())] = sums.saved();
    sums.Steps(2);
  });
  const std::vector<double> owed = Owed(before);
  const std::vector<double> owed_now = Owed(after);
  for (std::size_t i = 0; i < kElements; ++i) EXPECT_NEAR(owed_now[i], owed[i], 1e-5) << i;
}

// A server that adds up one payload in one part passes it on.
TEST(PushPull, OnOneRankAndInOnePartTheRouteMakesNoDifference) {
  const std::vector<Options> kinds = {
      {{"compressor", "dgc"}, {"density", "0.1"}, {"gain_compensation", "true"}},
      {{"compressor", "randomk"}, {"k", "30"}, {"unbiased", "true"}},
      {{"compressor", "topk"}, {"k", "30"}, {"momentum", "nesterov"}, {"momentum_mu", "0.5"}},
      {{"compressor", "onebit"},
       {"ef", "vanilla"},
       {"momentum", "nesterov"},
       {"momentum_mu", "0.5"}}};
  for (Options options : kinds) {
    SCOPED_TRACE(testing::PrintToString(options));
    options["min_elements"] = "1";
    RunLocal(1, [&](Engine& engine) {
      std::vector<double> applied;
      {
        Sums there(engine, options);
        there.Steps(5);
        applied = there.applied();
      }
      Sums here(engine, PushPull(options, "4096000"));
      here.Steps(5);
      EXPECT_EQ(here.applied(), applied);
    });
  }
}

TEST(PushPull, TensorsWithTheNamesOfPartsAreRefused) {
  RunLocal(1, [](Engine& engine) {
    EXPECT_THAT(TextOf<InvalidArgument>([&] {
                  engine.Register({.name = "g",
                                   .tensors = {{.name = "w", .shape = kShape},
                                               {.name = "w#1", .shape = Shape{5}}},
                                   .compression = PushPull({{"compressor", "dense"}}, "400")});
                }),
                HasSubstr("has a tensor named 'w#1', which is also a name of a partition"));
  });
}

TEST(PushPull, ServersAverage) {
  RunLocal(1, [](Engine& engine) {
    EXPECT_THAT(TextOf<InvalidArgument>([&] {
                  engine.Register({.name = "g",
                                   .tensors = {{.name = "w", .shape = kShape}},
                                   .compression = PushPull({{"compressor", "dense"}}, "400"),
                                   .op = ReduceOp::kSum});
                }),
                HasSubstr("and no servers (route=push_pull)"));
  });
}

TEST(PushPull, APartitionWithoutServersIsRefused) {
  RunLocal(1, [](Engine& engine) {
    EXPECT_THAT(
        TextOf<InvalidArgument>([&] {
          engine.Register(
              {.name = "g",
               .tensors = {{.name = "w", .shape = kShape}},
               .compression = {{"compressor", "topk"}, {"k", "3"}, {"partition_bytes", "400"}}});
        }),
        HasSubstr("has an effect only with route=push_pull"));
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, PushPullTest, testing::ValuesIn(JobSizes()),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace weir::push_pull_test
