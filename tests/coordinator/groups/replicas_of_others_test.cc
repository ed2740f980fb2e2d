// All replicas hold the same bits after every step if ranks do not compress for
// themselves alone: hosts do (route=hierarchical), or dedicated servers answer them. The
// other routes: replicas_test.cc.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <ostream>
#include <string>
#include <vector>

#include "tests/coordinator/jobs/job.h"
#include "tests/coordinator/jobs/job_on_hosts.h"
#include "tests/coordinator/jobs/training.h"

namespace weir::replicas_of_others_test {
namespace {

struct Kind {
  const char* name;
  Options compression;
  int steps = 50;

  friend void PrintTo(const Kind& kind, std::ostream* out) { *out << kind.name; }
};

std::vector<Kind> Kinds() {
  const Options feedback = {{"ef", "vanilla"}, {"min_elements", "100"}};
  const auto fed_back = [&](Options options) {
    options.insert(feedback.begin(), feedback.end());
    return options;
  };
  return {{"Dgc", DgcOptions("nesterov", 200), kMostSteps},
          {"TopK", fed_back({{"compressor", "topk"}, {"k", "0.02"}})},
          {"RandomK", fed_back({{"compressor", "randomk"}, {"k", "0.02"}})},
          {"Threshold", fed_back({{"compressor", "threshold"}, {"threshold", "2"}})},
          {"OneBit", fed_back({{"compressor", "onebit"}, {"scaling", "true"}})},
          {"Dithering", {{"compressor", "dithering"}, {"k", "4"}, {"min_elements", "100"}}},
          {"TernGrad", {{"compressor", "terngrad"}, {"min_elements", "100"}}},
          {"Quant3", fed_back({{"compressor", "quant3"}})},
          {"Int8", fed_back({{"compressor", "int8"}})}};
}

/// The weights' hash after each step.
std::vector<std::uint64_t> Train(Engine& engine, const Kind& kind) {
  Training training(engine, kind.compression);
  std::vector<std::uint64_t> hashes;
  for (int step = 0; step < kind.steps; ++step) {
    training.Step();
    hashes.push_back(training.Hash());
  }
  return hashes;
}

void ExpectReplicas(const std::map<int, std::vector<std::uint64_t>>& hashes) {
  std::vector<std::uint64_t> first = hashes.at(0);
  for (const auto& [rank, theirs] : hashes) {
    const auto differing = std::mismatch(first.begin(), first.end(), theirs.begin()).first;
    EXPECT_EQ(differing, first.end())
        << "rank " << rank << " differs after step " << differing - first.begin();
  }
  std::ranges::sort(first);
  EXPECT_EQ(std::ranges::adjacent_find(first), first.end()) << "the weights stand still";
}

class ReplicasOfOthers : public testing::TestWithParam<Kind> {};

TEST_P(ReplicasOfOthers, AreIdenticalAfterEveryStepWhereHostsCompress) {
  Kind kind = GetParam();
  kind.compression["route"] = "hierarchical";
  JobOnHosts job(4, 2);
  const auto run = [&](int, const auto& body, const Settings&) { job.Run(body, {}); };
  ExpectReplicas(Results(run, 4, [&](Engine& engine) { return Train(engine, kind); }));
}

TEST_P(ReplicasOfOthers, AreIdenticalAfterEveryStepBesideServersOfTheirOwn) {
  Kind kind = GetParam();
  kind.compression.insert({{"route", "push_pull"}, {"partition_bytes", "1200"}});
  kind.compression.try_emplace("min_elements", "100");  // Parts have at most 300.
  Settings settings;
  settings.servers = 2;
  ExpectReplicas(Results(
      RunLocal, 3, [&](Engine& engine) { return Train(engine, kind); }, settings));
}

INSTANTIATE_TEST_SUITE_P(, ReplicasOfOthers, testing::ValuesIn(Kinds()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace weir::replicas_of_others_test
