// weirrun --compression: one option turns on any compressor, route and mode in a
// program that names none of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <regex>
#include <string>
#include <vector>

#include "compression/options/registry.h"
#include "tests/launcher/launched_job.h"
#include "tests/paths.h"

namespace weir::launcher {
namespace {

using testing::SizeIs;

/// How a rank's steps went (programs/compressed_rank.cc).
struct Steps {
  std::string routes;
  std::uint64_t wire_bytes = 0;
  std::uint64_t dense_bytes = 0;
  std::string values;
};

/// Reports of the ranks about the steps that they call `what`, in any order.
std::vector<Steps> StepsOf(const LaunchedJob& job, const std::string& what) {
  const std::regex pattern(what + R"(: ([a-z_,]*), (\d+) of (\d+) bytes, values (\d+)\n)");
  std::vector<Steps> found;
  const std::string& output = job.output();
  for (std::sregex_iterator at(output.begin(), output.end(), pattern), end; at != end; ++at) {
    found.push_back({(*at)[1], std::stoull((*at)[2]), std::stoull((*at)[3]), (*at)[4]});
  }
  return found;
}

/// Places of a job's ranks.
struct Place {
  std::vector<std::string> arguments = {"-np", "2"};
  std::map<std::string, std::string> environment;
};
Place TwoHosts() {
  return {{"-np", "4", "-H", "node-a:2,node-b:2", "--network-interface", "lo"},
          {{"HYDRA_LAUNCHER_EXEC", TreePath("tests/launcher/stand_ins/here_instead_of_ssh.sh")}}};
}

/// A job with the option, and what came of it: on all ranks the bits, bytes and routes of an
/// optimizer that names the same itself. The program's rank 0 speaks for all. `other`: options to
/// compare with, by default those of no compression.
struct Outcome {
  Steps given, other;
};
Outcome RunWith(const std::string& compression, const Place& place = {},
                const std::string& other = "dense") {
  std::vector<std::string> arguments = place.arguments;
  arguments.insert(arguments.end(), {"--compression", compression, BuildPath("bin/compressed_rank"),
                                     compression, other});
  LaunchedJob job(arguments, place.environment);
  EXPECT_EQ(job.ExitCode(), 0) << job.output();
  const auto given = StepsOf(job, "given"), named = StepsOf(job, "named");
  const auto others = StepsOf(job, "other");
  const auto ranks = static_cast<std::size_t>(std::stoi(arguments[1]));
  if (given.size() != ranks || named.size() != ranks || others.size() != ranks) {
    ADD_FAILURE() << job.output();
    return {};
  }
  for (std::size_t r = 0; r < ranks; ++r) {
    EXPECT_EQ(given[r].values, named[r].values);
    EXPECT_EQ(given[r].values, given[0].values) << "replicas differ";
    EXPECT_EQ(given[r].routes, named[r].routes);
    if (other == "dense") {
      EXPECT_EQ(others[r].wire_bytes, others[r].dense_bytes);
    }
  }
  return {given[0], others[0]};
}

std::string WithDgc(const std::string& options) {
  return "compressor=dgc,density=0.01,values=fp32,min_elements=1,policy=always" + options;
}

class WeirrunCompression : public testing::TestWithParam<std::string> {};

TEST_P(WeirrunCompression, TurnsOnACompressorTheProgramDoesNotName) {
  const CompressorInfo& info = FindCompressor(GetParam());
  const auto takes = [&info](const std::string& key) {
    return std::ranges::find(info.options, key, &OptionSpec::key) != info.options.end();
  };
  std::string options = "compressor=" + info.name;
  if (takes("min_elements")) options += ",min_elements=1";
  if (takes("policy")) options += ",policy=always";
  if (takes("threshold")) options += ",threshold=5";
  if (takes("density")) options += ",density=0.1";
  const auto [given, dense] = RunWith(options);
  if (info.name == "dense") {
    EXPECT_EQ(given.values, dense.values);
    EXPECT_EQ(given.wire_bytes, dense.wire_bytes);
    return;
  }
  EXPECT_NE(given.values, dense.values);
  EXPECT_LE(given.wire_bytes, dense.wire_bytes / 2 + 128) << options;
}

std::vector<std::string> Names() {
  std::vector<std::string> names;
  for (const CompressorInfo& info : ListCompressors()) names.push_back(info.name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(, WeirrunCompression, testing::ValuesIn(Names()),
                         [](const auto& test) { return test.param; });

/// Effect of an option on a compressor.
struct Mode {
  std::string name;
  std::string without;
  std::string option;
  Place place = {};
};

class WeirrunMode : public testing::TestWithParam<Mode> {};

TEST_P(WeirrunMode, IsTurnedOnInAProgramThatDoesNotNameIt) {
  const Mode& mode = GetParam();
  const auto [given, without] = RunWith(mode.without + "," + mode.option, mode.place, mode.without);
  EXPECT_NE(given.values, without.values);
}

std::vector<Mode> Modes() {
  const std::string compressed = "min_elements=1,policy=always,";
  const std::string dgc = "compressor=dgc," + compressed;
  const std::string tenth = dgc + "density=0.1", masked = tenth + ",momentum=vanilla";
  const std::string topk = "compressor=topk," + compressed + "density=0.1";
  return {{"ValuesOf8Bits", tenth, "values=int8"},
          {"ValuesOf4Bits", tenth, "values=int4"},
          {"ValuesOf2Bits", tenth, "values=int2"},
          {"OneSelection", tenth, "selection=bucket"},
          {"DensityOfTheRun", dgc + "values=fp32", "density=auto,steps=100"},
          {"GainCompensation", masked, "gain_compensation=true"},
          {"LookAhead", tenth, "look_ahead=1"},
          {"LocalAdam", tenth, "momentum=adam"},
          {"NesterovCorrection", tenth, "momentum=nesterov"},
          {"Nesterov", topk, "momentum=nesterov,momentum_mu=0.9"},
          {"ErrorFeedback", topk, "ef=vanilla"},
          {"HalvesInsideHosts", tenth + ",route=hierarchical", "host_values=fp16", TwoHosts()}};
}

INSTANTIATE_TEST_SUITE_P(, WeirrunMode, testing::ValuesIn(Modes()),
                         [](const auto& test) { return test.param.name; });

TEST(Weirrun, CompressionMayHaveThePrefixOfBytePs) {
  const auto [prefixed, plain] =
      RunWith("byteps_compressor=onebit,byteps_scaling=true,byteps_min_compress_bytes=4", {},
              "compressor=onebit,scaling=true,min_compress_bytes=4");
  EXPECT_EQ(prefixed.values, plain.values);
  EXPECT_EQ(prefixed.wire_bytes, plain.wire_bytes);
  EXPECT_LT(prefixed.wire_bytes, prefixed.dense_bytes / 20);
}

TEST(Weirrun, CompressionTurnsOnARouteTheProgramDoesNotName) {
  const auto [gathered, dense] = RunWith(WithDgc(",route=allgather"));
  EXPECT_EQ(gathered.routes, "gather");
  EXPECT_LT(gathered.wire_bytes, dense.wire_bytes / 10);
  const Steps split = RunWith(WithDgc(",route=split")).given;
  EXPECT_EQ(split.routes, "split");
  EXPECT_EQ(split.values, gathered.values);
  EXPECT_NE(gathered.values, dense.values);
  EXPECT_EQ(RunWith(WithDgc(",route=push_pull,partition_bytes=4096")).given.routes, "push_pull");
}

TEST(Weirrun, CompressionTurnsOnTheRouteOverHosts) {
  const auto [given, dense] = RunWith(WithDgc(",route=hierarchical"), TwoHosts());
  EXPECT_EQ(given.routes, "hierarchical");
  EXPECT_NE(given.values, dense.values);
}

TEST(Weirrun, CompressionTurnsOnServersOfTheirOwn) {
  const auto [given, dense] =
      RunWith(WithDgc(",route=push_pull"), {{"-np", "2", "--servers", "1"}, {}});
  EXPECT_EQ(given.routes, "servers");
  EXPECT_NE(given.values, dense.values);
}

// Without max_staleness rank 0 would wait for rank 1, which waits for it, until the job times out.
TEST(Weirrun, CompressionLetsRanksGoOnWithoutEachOther) {
  for (const char* servers : {"0", "1"}) {
    LaunchedJob job(
        {"-np", "2", "--servers", servers, "--compression",
         WithDgc(",route=push_pull,max_staleness=2"), BuildPath("bin/compressed_rank"), "apart"},
        {{"WEIR_TIMEOUT_SECONDS", "30"}});
    EXPECT_EQ(job.ExitCode(), 0) << job.output();
    const std::vector<Steps> given = StepsOf(job, "given");
    ASSERT_THAT(given, SizeIs(2)) << job.output();
    for (const Steps& steps : given) {
      EXPECT_EQ(steps.routes, "servers");
      EXPECT_LT(steps.wire_bytes, steps.dense_bytes / 10);
    }
  }
}

}  // namespace
}  // namespace weir::launcher
