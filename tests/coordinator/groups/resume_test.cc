// Saved, stopped and resumed equals never stopped, bit for bit.
#include <gtest/gtest.h>

#include <map>
#include <ostream>
#include <span>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include "tests/coordinator/jobs/job.h"
#include "tests/coordinator/jobs/training.h"

namespace weir::resume_test {
namespace {

using Weights = std::vector<std::vector<float>>;

struct Kind {
  const char* name;
  Options compression;

  friend void PrintTo(const Kind& kind, std::ostream* out) { *out << kind.name; }
};

std::vector<Kind> Kinds() {
  Options clipped = DgcOptions("nesterov", 40);
  clipped["clip_norm"] = "1";
  Options with_servers = DgcOptions("vanilla", 40);
  with_servers.insert(
      {{"route", "push_pull"}, {"partition_bytes", "1200"}, {"min_elements", "100"}});
  return {{"DgcVanilla", DgcOptions("vanilla", 40)},
          {"DgcNesterovClipped", clipped},
          {"TopK",
           {{"compressor", "topk"},
            {"k", "0.02"},
            {"min_elements", "100"},
            {"ef", "vanilla"},
            {"momentum", "nesterov"},
            {"momentum_mu", "0.9"}}},
          {"PushPull", with_servers},
          {"PowerSgd", {{"compressor", "powersgd"}, {"rank", "2"}, {"min_elements", "100"}}}};
}

/// In the middle of the warm-up.
constexpr int kFirstHalf = 23;
constexpr int kSecondHalf = 31;

/// Files of one rank.
struct Checkpoint {
  std::string state;
  Weights weights;
};

Checkpoint Save(Training& training) {
  std::ostringstream out;
  training.group().Save(out);
  return {out.str(), training.weights()};
}

void Load(const Checkpoint& checkpoint, Training& training) {
  std::istringstream in(checkpoint.state);
  std::istream* file = &in;
  training.group().Load(std::span<std::istream* const>(&file, 1));
  EXPECT_EQ(training.group().next_step(), kFirstHalf);
  training.set_weights(checkpoint.weights);
}

class Resume : public testing::TestWithParam<std::tuple<int, Kind>> {
 protected:
  int ranks() const { return std::get<0>(GetParam()); }
  const Options& compression() const { return std::get<1>(GetParam()).compression; }

  std::map<int, Weights> NeverStopped() const {
    return Results(RunJob, ranks(), [&](Engine& engine) {
      Training training(engine, compression());
      training.Steps(kFirstHalf + kSecondHalf);
      return training.weights();
    });
  }

  Checkpoint FirstHalf(Engine& engine) const {
    Training training(engine, compression());
    training.Steps(kFirstHalf);
    const Checkpoint checkpoint = Save(training);
    training.Steps(3);  // Lost.
    return checkpoint;
  }

  void ExpectSecondHalf(Engine& engine, const Checkpoint& checkpoint,
                        const std::map<int, Weights>& expected) const {
    Training training(engine, compression());
    Load(checkpoint, training);
    training.Steps(kSecondHalf);
    EXPECT_EQ(training.weights(), expected.at(engine.rank()));
  }
};

TEST_P(Resume, OnAnEngineMadeAfterTheFirstOneWasShutDown) {
  const auto expected = NeverStopped();
  const auto disks = Results(RunJob, ranks(), [&](Engine& engine) { return FirstHalf(engine); });
  RunJob(ranks(),
         [&](Engine& engine) { ExpectSecondHalf(engine, disks.at(engine.rank()), expected); });
}

TEST_P(Resume, OnAGroupRegisteredAgainUnderTheSameName) {
  const auto expected = NeverStopped();
  RunJob(ranks(), [&](Engine& engine) {
    const Checkpoint disk = FirstHalf(engine);
    ExpectSecondHalf(engine, disk, expected);
  });
}

// Without it the tests above would pass if there were nothing worth saving.
TEST_P(Resume, WithoutItsStateATrainingTakesAnotherWay) {
  const auto expected = NeverStopped();
  RunJob(ranks(), [&](Engine& engine) {
    const Checkpoint disk = FirstHalf(engine);
    Training training(engine, compression());
    training.set_weights(disk.weights);
    training.Steps(kSecondHalf);
    EXPECT_NE(training.weights(), expected.at(engine.rank()));
  });
}

INSTANTIATE_TEST_SUITE_P(, Resume,
                         testing::Combine(testing::ValuesIn(JobSizes()),
                                          testing::ValuesIn(Kinds())),
                         [](const auto& test) {
                           return std::get<1>(test.param).name + std::string("Ranks") +
                                  std::to_string(std::get<0>(test.param));
                         });

}  // namespace
}  // namespace weir::resume_test
