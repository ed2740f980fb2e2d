// Impossible settings are refused before anything starts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "tests/coordinator/jobs/job.h"
#include "tests/coordinator/jobs/text_of.h"
#include "weir/error.h"

namespace weir {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

class EngineSettings : public testing::TestWithParam<int> {
 protected:
  std::string Refusal(const Settings& settings) const {
    return TextOf<InvalidArgument>([&] {
      RunJob(
          GetParam(), [](Engine&) { ADD_FAILURE() << "there is an engine"; }, settings);
    });
  }
};

TEST_P(EngineSettings, AValueOutsideItsRangeIsNamed) {
  Settings settings;
  settings.timeout_seconds = -1;
  EXPECT_THAT(Refusal(settings), HasSubstr("TIMEOUT_SECONDS"));
}

TEST_P(EngineSettings, ACompressionThatNoOptimizerCouldUseIsNamed) {
  Settings settings;
  settings.compression = {{"compressor", "dcg"}};
  EXPECT_THAT(Refusal(settings),
              AllOf(StartsWith("WEIR_COMPRESSION: "), HasSubstr("did you mean 'dgc'")));
  settings.compression = {{"compressor", "topk"}, {"k", "8"}, {"warmup_steps", "10"}};
  EXPECT_THAT(Refusal(settings), HasSubstr("needs a density, but \"k\" is a count"));
  settings.compression = {{"compressor", "topk"}, {"momentum_mu", "0.9"}};
  EXPECT_THAT(Refusal(settings), HasSubstr("has no effect without \"momentum\""));
  settings.compression = {{"compressor", "onebit"}, {"route", "split"}};
  EXPECT_THAT(Refusal(settings),
              HasSubstr("\"route\" = \"split\" must be allgather, hierarchical or push_pull"));
  settings.compression = {{"compressor", "dgc"}, {"densty", "0.1"}};
  EXPECT_THAT(Refusal(settings),
              AllOf(StartsWith("WEIR_COMPRESSION: "), HasSubstr("did you mean 'density'")));
}

TEST_P(EngineSettings, AMomentumThatAnOptimizerCanUseIsTaken) {
  using Options = std::map<std::string, std::string>;
  for (const Options& compression : {Options{{"compressor", "dgc"}, {"momentum", "adam"}},
                                     Options{{"compressor", "topk"}, {"momentum", "none"}},
                                     Options{{"compressor", "topk"}, {"momentum", "nesterov"}}}) {
    Settings settings;
    settings.compression = compression;
    EXPECT_FALSE(Results(
                     RunJob, GetParam(), [](Engine& engine) { return engine.size(); }, settings)
                     .empty());
  }
}

TEST_P(EngineSettings, AJobMayFollowOneThatWasRefused) {
  Settings settings;
  settings.compression = {{"compressor", "dcg"}};
  EXPECT_NE(Refusal(settings), "");
  EXPECT_FALSE(Results(RunJob, GetParam(), [](Engine& engine) { return engine.size(); }).empty());
}

INSTANTIATE_TEST_SUITE_P(Ranks, EngineSettings, testing::ValuesIn(JobSizes()),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace weir
