#include "weir/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>
#include <variant>

#include "common/settings/compression_text.h"
#include "common/settings/settings_table.h"
#include "tests/paths.h"
#include "weir/error.h"

namespace weir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

std::string ErrorOf(const std::map<std::string, std::string>& environment) {
  try {
    Settings::FromEnvironment(environment);
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return "no error";
}

TEST(Settings, AnEmptyEnvironmentGivesTheDefaults) {
  const auto settings = Settings::FromEnvironment({{"WEIR_TIMEOUT_SECONDS", ""}});
  EXPECT_EQ(settings.fusion_threshold_bytes, std::size_t{128} << 20);
  EXPECT_EQ(settings.timeout_seconds, 3600);
  EXPECT_EQ(settings.pipeline, PipelineMode::kThread);
  EXPECT_THAT(settings.warnings(), IsEmpty());
}

TEST(Settings, EveryTypeIsRead) {
  const auto settings = Settings::FromEnvironment({{"WEIR_FUSION_THRESHOLD", "1099511627776"},
                                                   {"WEIR_CYCLE_TIME", "2.5"},
                                                   {"WEIR_WORKER_THREADS", "3"},
                                                   {"WEIR_PIPELINE", "serial"},
                                                   {"WEIR_LOG_LEVEL", "DEBUG"},
                                                   {"WEIR_METRICS_ADDRESS", "0.0.0.0"},
                                                   {"WEIR_COMPRESSION", "compressor=dgc,k=0.01"}});
  EXPECT_EQ(settings.fusion_threshold_bytes, std::size_t{1} << 40);
  EXPECT_EQ(settings.cycle_time_ms, 2.5);
  EXPECT_EQ(settings.worker_threads, 3);
  EXPECT_EQ(settings.pipeline, PipelineMode::kSerial);
  EXPECT_EQ(settings.log_level, LogLevel::kDebug);
  EXPECT_EQ(settings.metrics_address, "0.0.0.0");
  EXPECT_EQ(settings.compression, (StringMap{{"compressor", "dgc"}, {"k", "0.01"}}));
}

TEST(Settings, BooleansHaveFourSpellingsEach) {
  for (const char* text : {"true", "1", "yes", "on", "True", "ON"}) {
    EXPECT_TRUE(Settings::FromEnvironment({{"WEIR_DETERMINISTIC", text}}).deterministic) << text;
  }
  for (const char* text : {"false", "0", "no", "off"}) {
    EXPECT_FALSE(Settings::FromEnvironment({{"WEIR_STALL_CHECK", text}}).stall_check) << text;
  }
}

TEST(Settings, HorovodsSpellingIsReadWhenOursIsNotSet) {
  const auto aliased = Settings::FromEnvironment({{"HOROVOD_CACHE_CAPACITY", "7"}});
  EXPECT_EQ(aliased.cache_capacity, 7);
  EXPECT_THAT(aliased.Describe(), HasSubstr("WEIR_CACHE_CAPACITY = 7  (from HOROVOD_CACHE_"));
  const auto both =
      Settings::FromEnvironment({{"HOROVOD_CACHE_CAPACITY", "7"}, {"WEIR_CACHE_CAPACITY", "8"}});
  EXPECT_EQ(both.cache_capacity, 8);
}

TEST(Settings, EveryHorovodsSpellingIsRead) {
  for (const SettingRow& row : SettingTable()) {
    if (row.alias.empty()) continue;
    const std::string variable = "HOROVOD_" + row.alias;
    const bool text = std::holds_alternative<std::string Settings::*>(row.member);
    const bool level = std::holds_alternative<LogLevel Settings::*>(row.member);
    const std::string value = text ? "file" : level ? "debug" : "1";
    const auto entries = Settings::FromEnvironment({{variable, value}}).Entries();
    const auto entry = std::ranges::find(entries, row.variable(), &Settings::Entry::variable);
    ASSERT_NE(entry, entries.end());
    EXPECT_EQ(entry->source, variable);
  }
}

TEST(Settings, HorovodsWordForATimelineThatComesLaterSetsNothing) {
  const auto settings = Settings::FromEnvironment({{"HOROVOD_TIMELINE", "DYNAMIC"}});
  EXPECT_EQ(settings.timeline_filename, "");
  EXPECT_THAT(settings.Describe(), HasSubstr("WEIR_TIMELINE =   (default)"));
}

TEST(Settings, AliasesThatSayTheOppositeAreInvertedUnderBothPrefixes) {
  EXPECT_FALSE(Settings::FromEnvironment({{"HOROVOD_STALL_CHECK_DISABLE", "1"}}).stall_check);
  EXPECT_FALSE(Settings::FromEnvironment({{"WEIR_STALL_CHECK_DISABLE", "1"}}).stall_check);
  EXPECT_TRUE(Settings::FromEnvironment({{"HOROVOD_STALL_CHECK_DISABLE", "0"}}).stall_check);
  EXPECT_FALSE(Settings::FromEnvironment({{"HOROVOD_LOG_HIDE_TIME", "yes"}}).log_timestamps);
}

TEST(Settings, ABadValueIsAnErrorThatNamesVariableValueAndWhatIsAllowed) {
  const std::string error = ErrorOf({{"HOROVOD_FUSION_THRESHOLD", "64MB"}});
  EXPECT_THAT(error, HasSubstr("HOROVOD_FUSION_THRESHOLD=64MB"));
  EXPECT_THAT(error, HasSubstr("allowed: bytes, 0 to 1099511627776"));
  for (const auto& [variable, value] :
       std::map<std::string, std::string>{{"WEIR_FUSION_THRESHOLD", "-1"},
                                          {"WEIR_CYCLE_TIME", "nan"},
                                          {"WEIR_METRICS_PORT", "65536"},
                                          {"WEIR_TIMEOUT_SECONDS", "0"},
                                          {"WEIR_PIPELINE", "parallel"},
                                          {"WEIR_DETERMINISTIC", "maybe"},
                                          {"WEIR_COMPRESSION", "dgc,k=1"}}) {
    EXPECT_THAT(ErrorOf({{variable, value}}), HasSubstr(variable + "=" + value));
  }
  EXPECT_EQ(Settings::FromEnvironment({{"WEIR_COMPRESSION", "sparsity=[0.5,0.75],values=fp32"}})
                .compression,
            (std::map<std::string, std::string>{{"sparsity", "[0.5,0.75]"}, {"values", "fp32"}}));
  EXPECT_EQ(Settings::FromEnvironment({{"WEIR_COMPRESSION", "dgc"}}).compression,
            (std::map<std::string, std::string>{{"compressor", "dgc"}}));
  EXPECT_EQ(Settings::FromEnvironment(
                {{"WEIR_COMPRESSION", "k[a,b=[0-3]]=1,sparsity[fc*]=[0.5,0.75],ef=vanilla"}})
                .compression,
            (std::map<std::string, std::string>{
                {"k[a,b=[0-3]]", "1"}, {"sparsity[fc*]", "[0.5,0.75]"}, {"ef", "vanilla"}}));
  EXPECT_THAT(ErrorOf({{"WEIR_COMPRESSION", "k=1,k=2"}}), HasSubstr("each key once"));
}

TEST(Settings, WhatIsWrongWithAListOfCompressionOptionsIsNamed) {
  const auto fault = [](const std::string& text) { return ErrorOf({{"WEIR_COMPRESSION", text}}); };
  EXPECT_THAT(fault("k=1,"), HasSubstr("a comma with nothing before or after it"));
  EXPECT_THAT(fault("k=1,k=2"), HasSubstr("gives k twice; give each key once"));
  EXPECT_THAT(fault("dgc,density=0.01"), HasSubstr("write compressor=dgc"));
  EXPECT_THAT(fault("sparsity=0.75,0.9"),
              HasSubstr("\"0.9\" is not key=value: write a list of numbers"));
  EXPECT_THAT(fault("sparsity=0.75,.9"), HasSubstr("a list of numbers"));
  EXPECT_THAT(fault("sparsity=[0.75,0.9,k=1"), HasSubstr("bracket in \"sparsity=[0.75,0.9,k=1\""));
  EXPECT_THAT(fault("topk[fc"), HasSubstr("bracket in \"topk[fc\""));
}

TEST(Settings, ServersAreTheLaunchersToStart) {
  using Variables = std::map<std::string, std::string>;
  const Variables with_option = {{"WEIR_SERVERS", "2"},
                                 {"WEIR_LAUNCHER_ORIGINS", "WEIR_SERVERS=--servers\n"}};
  EXPECT_EQ(Settings::FromEnvironment(with_option).servers, 2);
  EXPECT_EQ(Settings::FromEnvironment({{"WEIR_SERVERS", "2"}}).servers, 2) << "without weirrun";
  EXPECT_THAT(ErrorOf({{"WEIR_SERVERS", "2"}, {"WEIR_LAUNCHER_ORIGINS", ""}}),
              HasSubstr("only weirrun --servers may set WEIR_SERVERS"));
}

TEST(Settings, TheTextOfCompressionOptionsGivesThemBack) {
  for (const std::string text :
       {"compressor=dgc", "compressor=dgc,density[a,b=[0-3]]=0.5,sparsity=[0.5,0.9]"}) {
    const auto options = CompressionFromText(text);
    EXPECT_EQ(CompressionFromText(CompressionText(options)), options) << CompressionText(options);
  }
  EXPECT_EQ(CompressionText({{"sparsity", "0.5,0.9"}, {"k", "1"}}), "k=1,sparsity=[0.5,0.9]");
}

TEST(Settings, AnUnknownVariableIsAnsweredWithTheNearestOne) {
  const auto settings = Settings::FromEnvironment({{"WEIR_FUSION_TRESHOLD", "1"},
                                                   {"WEIR_ZEBRA", "1"},
                                                   {"WEIR_SUPERVISOR_FD", "5"},
                                                   {"WEIR_RUN_PROGRAM", "weirrun"},
                                                   {"HOROVOD_HOSTNAME", "a"},
                                                   {"PATH", "/bin"}});
  EXPECT_THAT(settings.warnings(),
              ElementsAre(HasSubstr("WEIR_FUSION_TRESHOLD is not a setting and is ignored; did you "
                                    "mean 'WEIR_FUSION_THRESHOLD'?"),
                          testing::EndsWith("WEIR_ZEBRA is not a setting and is ignored")));
}

TEST(Settings, AMisspeltHorovodVariableIsAnsweredWithTheNearestOne) {
  const auto settings = Settings::FromEnvironment({{"HOROVOD_FUSION_TRESHOLD", "1"},
                                                   {"HOROVOD_TORUS_ALREDUCE", "1"},
                                                   {"HOROVOD_TORUS_ALLREDUCE", "0"},
                                                   {"HOROVOD_GPU_OPERATIONS", "NCCL"},
                                                   {"HOROVOD_GLOO_RENDEZVOUS_ADDR", "a"},
                                                   {"HOROVOD_CONTROLLER", "gloo"},
                                                   {"HOROVOD_RANK", "3"}});
  EXPECT_THAT(settings.warnings(),
              ElementsAre(HasSubstr("did you mean 'HOROVOD_FUSION_THRESHOLD'?"),
                          HasSubstr("did you mean 'HOROVOD_TORUS_ALLREDUCE'?"),
                          "without effect in Weir: HOROVOD_CONTROLLER=gloo"));
}

TEST(Settings, StrictMakesWarningsErrors) {
  for (const auto& [variable, value] :
       std::map<std::string, std::string>{{"WEIR_FUSION_TRESHOLD", "1"},
                                          {"HOROVOD_FUSION_TRESHOLD", "1"},
                                          {"WEIR_STALL_SHUTDOWN_TIME_SECONDS", "0"},
                                          {"HOROVOD_TORUS_ALLREDUCE", "1"},
                                          {"HOROVOD_CONTROLLER", "gloo"}}) {
    EXPECT_THAT(ErrorOf({{variable, value}, {"WEIR_STRICT", "1"}}), HasSubstr(variable));
    EXPECT_THAT(Settings::FromEnvironment({{variable, value}}).warnings(),
                ElementsAre(HasSubstr(variable)));
  }
  EXPECT_EQ(ErrorOf({{"WEIR_STRICT", "1"},
                     {"HOROVOD_TORUS_ALLREDUCE", "0"},
                     {"HOROVOD_CONTROLLER", "mpi"},
                     {"HOROVOD_CYCLE_TIME", "2"},
                     {"HOROVOD_RANK", "3"},
                     {"WEIR_MPIEXEC", "mpiexec"}}),
            "no error");
}

TEST(Settings, WhatHorovodHasAndWeirDoesNotIsSaidInOneLine) {
  EXPECT_THAT(Settings::FromEnvironment({{"HOROVOD_TORUS_ALLREDUCE", "1"},
                                         {"HOROVOD_CPU_OPERATIONS", "gloo"},
                                         {"HOROVOD_CONTROLLER", "mpi"}})
                  .warnings(),
              ElementsAre("without effect in Weir: HOROVOD_CPU_OPERATIONS=gloo, "
                          "HOROVOD_TORUS_ALLREDUCE=1"));
}

TEST(Settings, AProgramThatIsStrictRefusesWhatItWasWarnedOf) {
  Settings settings = Settings::FromEnvironment({{"WEIR_ZEBRA", "1"}});
  settings.Check();
  settings.strict = true;
  EXPECT_THROW(settings.Check(), InvalidArgument);
}

TEST(Settings, WeirrunsOptionsAreNamedAsTheSource) {
  const auto settings = Settings::FromEnvironment(
      {{"WEIR_CYCLE_TIME", "2"},
       {"WEIR_TIMEOUT_SECONDS", "5"},
       {"WEIR_LAUNCHER_ORIGINS", "WEIR_CYCLE_TIME=--cycle-time-ms\nWEIR_TIMELINE=a.yaml:3\n"}});
  EXPECT_THAT(settings.Describe(), HasSubstr("WEIR_CYCLE_TIME = 2  (from --cycle-time-ms)\n"));
  EXPECT_THAT(settings.Describe(), HasSubstr("(from WEIR_TIMEOUT_SECONDS)\n"));
}

TEST(Settings, AStallThatNeverEndsTheJobIsWarnedAbout) {
  EXPECT_THAT(Settings::FromEnvironment({{"HOROVOD_STALL_SHUTDOWN_TIME_SECONDS", "0"}}).warnings(),
              ElementsAre(HasSubstr("never ends the job")));
}

TEST(Settings, DescriptionSaysWhereEachValueCameFrom) {
  auto settings =
      Settings::FromEnvironment({{"WEIR_TIMEOUT_SECONDS", "5"}, {"WEIR_CYCLE_TIME", "2"}});
  settings.cycle_time_ms = 3;
  const std::string text = settings.Describe();
  EXPECT_THAT(text, HasSubstr("WEIR_TIMEOUT_SECONDS = 5  (from WEIR_TIMEOUT_SECONDS)\n"));
  EXPECT_THAT(text, HasSubstr("WEIR_CYCLE_TIME = 3  (set by the program)\n"));
  EXPECT_THAT(text, HasSubstr("WEIR_METRICS_PORT = 0  (default)\n"));
}

TEST(Settings, TheTokenIsNeverPrinted) {
  const auto settings = Settings::FromEnvironment({{"WEIR_METRICS_TOKEN", "hunter2"}});
  EXPECT_EQ(settings.metrics_token, "hunter2");
  EXPECT_THAT(settings.Describe(), Not(HasSubstr("hunter2")));
}

TEST(Settings, EveryDefaultIsItselfAllowedAndEveryNameIsUnique) {
  std::set<std::string> names;
  for (const SettingRow& row : SettingTable()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    Settings settings;
    const std::string value = Format(row, settings);
    if (value.empty()) continue;
    Parse(row, row.variable(), value, settings);
    EXPECT_EQ(Format(row, settings), value) << row.name;
  }
}

TEST(Settings, TheReferencePageIsTheTable) {
  std::ifstream file(TreePath("docs/reference/settings.md"));
  std::stringstream page;
  page << file.rdbuf();
  if (page.str() == SettingsReference()) return;
  const std::string written = testing::TempDir() + "settings.md";
  std::ofstream(written) << SettingsReference();
  FAIL() << TreePath("docs/reference/settings.md") << " is out of date; the new text is in "
         << written << ", copy it there";
}

TEST(Settings, WhatAProgramFillsInIsCheckedLikeAVariable) {
  Settings settings;
  settings.compression = {{"compressor", "dgc"}, {"sparsity", "0.5,0.75"}};
  settings.Check();
  settings.compression["sparsity[fc[0-3].*]"] = "0.5,0.75";
  settings.Check();
  settings.timeout_seconds = -5;
  try {
    settings.Check();
    FAIL() << "no error";
  } catch (const InvalidArgument& error) {
    EXPECT_THAT(error.what(), HasSubstr("the setting TIMEOUT_SECONDS=-5 is not allowed"));
  }
}

}  // namespace
}  // namespace weir
