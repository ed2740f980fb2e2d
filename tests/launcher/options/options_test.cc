#include "launcher/options/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "launcher/options/setting_flags.h"
#include "weir/error.h"
#include "weir/settings.h"

namespace weir::launcher {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Key;
using testing::Not;
using testing::Pair;
using testing::SizeIs;
using testing::ThrowsMessage;
using testing::UnorderedElementsAre;

using Words = std::vector<std::string>;

void ExpectRefused(const Words& words, const std::string& text) {
  EXPECT_THAT([&] { ParseOptions(words); }, ThrowsMessage<InvalidArgument>(HasSubstr(text)));
}

class ConfigFile {
 public:
  explicit ConfigFile(const std::string& text) { std::ofstream(path_) << text; }
  ~ConfigFile() { std::filesystem::remove(path_); }
  const std::string& path() const { return path_; }

 private:
  std::string path_ = testing::TempDir() + "config-" + std::to_string(getpid()) + ".yaml";
};

TEST(Options, EverythingAfterTheProgramIsTheProgramS) {
  const Options options =
      ParseOptions({"-np", "2", "--verbose", "python", "train.py", "-np", "7", "--verbose"});
  EXPECT_EQ(options.ranks, 2);
  EXPECT_TRUE(options.verbose);
  EXPECT_THAT(options.command, ElementsAre("python", "train.py", "-np", "7", "--verbose"));
}

TEST(Options, TwoDashesBeginTheProgram) {
  EXPECT_THAT(ParseOptions({"-np", "2", "--", "-odd", "x"}).command, ElementsAre("-odd", "x"));
}

TEST(Options, SpellingsOfHorovodAreKnown) {
  for (const Words& words :
       {Words{"-np", "4", "-H", "a:2,b:2", "x"}, Words{"--num-proc=4", "--hosts=a:2,b:2", "x"},
        Words{"--num-proc", "4", "-Ha:2,b:2", "x"}}) {
    const Options options = ParseOptions(words);
    EXPECT_EQ(options.ranks, 4);
    EXPECT_THAT(options.hosts, SizeIs(2));
    EXPECT_THAT(options.command, ElementsAre("x"));
  }
  EXPECT_EQ(ParseOptions({"-cb"}).action, Options::Action::kCheckBuild);
  EXPECT_EQ(ParseOptions({"-v"}).action, Options::Action::kVersion);
  EXPECT_THAT(ParseOptions({"--help"}).help, HasSubstr("--cycle-time-ms"));
}

TEST(Options, WithoutHostsAllRanksAreHere) {
  const Options options = ParseOptions({"-np", "64", "x"});
  ASSERT_THAT(options.hosts, SizeIs(1));
  EXPECT_EQ(options.hosts[0].name, "localhost");
  EXPECT_EQ(options.hosts[0].slots, 64);
}

TEST(Options, ServersAreStartedBesideTheRanks) {
  const Options options = ParseOptions({"-np", "3", "--servers", "2", "train"});
  EXPECT_EQ(options.ranks, 3);
  EXPECT_EQ(options.servers, 2);
  EXPECT_EQ(HostsText(options.hosts), "localhost:5");
  EXPECT_EQ(options.environment.at("WEIR_SERVERS"), "2");
  EXPECT_FALSE(
      ParseOptions({"-np", "3", "--servers", "0", "train"}).environment.contains("WEIR_SERVERS"));
  EXPECT_THAT(
      [] {
        ParseOptions({"-np", "3", "--servers", "-1", "train"});
      },
      ThrowsMessage<InvalidArgument>(HasSubstr("the number of servers, 0 to 16384")));
}

TEST(Options, MistakesAreNamed) {
  ExpectRefused({"-np", "2", "--cycle-time", "1", "x"},
                "unknown option '--cycle-time'; did you mean '--cycle-time-ms'?");
  ExpectRefused({"-n", "2", "x"}, "unknown option '-n'");
  ExpectRefused({"x"}, "with -np");
  ExpectRefused({"-np", "0", "x"}, "-np is '0'; give the number of ranks, 1 to 16384");
  ExpectRefused({"-np", "two", "x"}, "-np is 'two'; give the number of ranks, 1 to 16384");
  ExpectRefused({"-np", "5000000", "x"}, "-np is '5000000'; give the number of ranks, 1 to 16384");
  ExpectRefused({"-np", "", "x"}, "-np");
  ExpectRefused({"-np", "1", "--grace-seconds", "nan", "x"}, "--grace-seconds is 'nan'; give");
  ExpectRefused({"-np", "1", "-p", "70000", "x"}, "--ssh-port is '70000'; give a port");
  ExpectRefused({"-np", "1", "-H", "", "x"}, "-H names no host");
  ExpectRefused({"-np", "1", "--hostfile", "", "x"}, "--hostfile");
  ExpectRefused({"-np", "1", "--config-file", "", "x"}, "--config-file");
  ExpectRefused({"-np", "2"}, "nothing to run");
  ExpectRefused({"-np", "5", "-H", "a:2,b:2", "x"}, "more ranks than the 4 slots");
  ExpectRefused({"-np", "2", "-H", "a:2", "--hostfile", "f", "x"}, "give one of them");
  ExpectRefused({"-np", "2", "--cycle-time-ms", "soon", "x"}, "--cycle-time-ms");
  ExpectRefused({"-np", "2", "--fusion-threshold-mb", "-1", "x"}, "--fusion-threshold-mb");
  ExpectRefused({"-np", "2", "--log-level", "loud", "x"}, "--log-level");
}

TEST(Options, OnlyASlipGetsASuggestion) {
  EXPECT_THAT(
      [] {
        ParseOptions({"--bogus", "x"});
      },
      ThrowsMessage<InvalidArgument>(
          AllOf(HasSubstr("unknown option '--bogus'"), Not(HasSubstr("did you mean")))));
  ExpectRefused({"--host=a", "x"}, "did you mean '--hosts'?");
}

TEST(Options, SettingsBecomeVariables) {
  const Options options = ParseOptions(
      {"-np", "1", "--fusion-threshold-mb", "0.5", "--no-stall-check", "--timeline-mark-cycles",
       "--log-without-timestamp", "--metrics-port", "9400", "--start-timeout", "5",
       "--hierarchical-allreduce", "--no-hierarchical-allgather", "x"});
  EXPECT_THAT(options.environment,
              UnorderedElementsAre(
                  Pair("WEIR_FUSION_THRESHOLD", "524288"), Pair("WEIR_STALL_CHECK", "false"),
                  Pair("WEIR_TIMELINE_MARK_CYCLES", "true"), Pair("WEIR_LOG_TIMESTAMPS", "false"),
                  Pair("WEIR_METRICS_PORT", "9400"), Pair("WEIR_START_TIMEOUT", "5"),
                  Pair("WEIR_HIERARCHICAL_ALLREDUCE", "true"),
                  Pair("WEIR_HIERARCHICAL_ALLGATHER", "false")));
}

/// One that the flag, no switch, takes.
std::string SomeValue(const SettingFlag& flag) {
  if (flag.setting == "LOG_LEVEL") return "debug";
  if (flag.setting == "GPU_TRANSPORT") return "mpi-staged";
  if (flag.setting == "TRANSPORT") return "ucx";
  return flag.setting == "TIMELINE" ? "file.json" : "3";
}

TEST(Options, EverySettingFlagIsUnderstoodByTheEngine) {
  for (const SettingFlag& flag : SettingFlags()) {
    const std::string value = flag.is_switch() ? "true" : SomeValue(flag);
    const std::map<std::string, std::string> environment = {
        {flag.variable(), VariableValue(flag, flag.flag, value)}};
    EXPECT_THAT(Settings::FromEnvironment(environment).warnings(), IsEmpty()) << flag.flag;
  }
}

TEST(Options, EverySettingFlagIsTakenOnTheCommandLine) {
  for (const SettingFlag& flag : SettingFlags()) {
    if (flag.is_switch()) {
      EXPECT_THAT(ParseOptions({"-np", "1", flag.flag, "x"}).environment,
                  ElementsAre(Pair(flag.variable(), "true")));
      EXPECT_THAT(ParseOptions({"-np", "1", flag.off_flag, "x"}).environment,
                  ElementsAre(Pair(flag.variable(), "false")));
      continue;
    }
    const std::string value = SomeValue(flag);
    EXPECT_THAT(ParseOptions({"-np", "1", flag.flag, value, "x"}).environment,
                ElementsAre(Pair(flag.variable(), flag.megabytes ? "3145728" : value)));
  }
}

// As it is written: what keys and values mean is for the ranks.
TEST(Options, CompressionIsANameOrAListInWhichBracketsHoldLists) {
  using Compression = std::map<std::string, std::string>;
  for (const auto& [text, meant] : std::vector<std::pair<std::string, Compression>>{
           {"dgc", {{"compressor", "dgc"}}},
           {"compressor=topk,k=0.01,ef=vanilla",
            {{"compressor", "topk"}, {"k", "0.01"}, {"ef", "vanilla"}}},
           {"compressor=dgc,sparsity=[0.75,0.999],sparsity[fc[0-3].*]=[0.5,0.9],route=split",
            {{"compressor", "dgc"},
             {"sparsity", "[0.75,0.999]"},
             {"sparsity[fc[0-3].*]", "[0.5,0.9]"},
             {"route", "split"}}}}) {
    const ConfigFile file("params:\n  compression: " + text + "\n");
    for (const Words& words : {Words{"--compression", text}, Words{"--compression=" + text},
                               Words{"--config-file", file.path()}}) {
      Words all = {"-np", "1"};
      all.insert(all.end(), words.begin(), words.end());
      all.emplace_back("x");
      const Options options = ParseOptions(all);
      EXPECT_THAT(options.environment, ElementsAre(Pair("WEIR_COMPRESSION", text)));
      EXPECT_EQ(Settings::FromEnvironment(options.environment).compression, meant);
    }
  }
}

TEST(Options, CompressionThatIsNoListIsRefused) {
  const std::string allowed = "a name, or key=value,key=value, each key once";
  for (const char* text : {"dgc,k=1", "k=1,k=2", "k=1,", "sparsity=0.75,0.999"}) {
    ExpectRefused({"-np", "1", "--compression", text, "x"},
                  std::string("--compression=") + text + " is not allowed; allowed: " + allowed);
    const ConfigFile file(std::string("params:\n  compression: ") + text + "\n");
    ExpectRefused({"-np", "1", "--config-file", file.path(), "x"}, ":2: params.compression");
  }
}

TEST(Options, AHostFileIsRead) {
  const ConfigFile file("# hosts\nalpha slots=2\nbeta:1\n");
  for (const char* flag : {"--hostfile", "-hostfile"}) {
    const Options options = ParseOptions({"-np", "3", flag, file.path(), "x"});
    EXPECT_EQ(HostsText(options.hosts), "alpha:2,beta:1") << flag;
  }
}

TEST(Options, HorovodsAutotuneIsTaken) {
  const Options options = ParseOptions(
      {"-np", "1", "--autotune", "--autotune-log-file", "f", "--autotune-warmup-samples=2",
       "--autotune-steps-per-sample", "7", "--autotune-bayes-opt-max-samples", "9",
       "--autotune-gaussian-process-noise", "0.5", "x"});
  EXPECT_THAT(options.environment,
              UnorderedElementsAre(Pair("WEIR_AUTOTUNE", "true"), Pair("WEIR_AUTOTUNE_LOG", "f"),
                                   Pair("WEIR_AUTOTUNE_WARMUP_SAMPLES", "2"),
                                   Pair("WEIR_AUTOTUNE_STEPS_PER_SAMPLE", "7"),
                                   Pair("WEIR_AUTOTUNE_BAYES_OPT_MAX_SAMPLES", "9")));
  EXPECT_THAT(options.notices, ElementsAre(HasSubstr("no Gaussian process")));
}

TEST(Options, TheOldSpellingOfHiddenTimestampsIsKnown) {
  EXPECT_THAT(ParseOptions({"-np", "1", "--log-hide-timestamp", "x"}).environment,
              ElementsAre(Pair("WEIR_LOG_TIMESTAMPS", "false")));
  EXPECT_THAT(ParseOptions({"-np", "1", "--no-log-hide-timestamp", "x"}).environment,
              ElementsAre(Pair("WEIR_LOG_TIMESTAMPS", "true")));
}

TEST(Options, WhoSetAVariableIsRemembered) {
  const ConfigFile file("params:\n  cycle-time-ms: 3\n  cache-capacity: 3\n");
  const Options options = ParseOptions(
      {"-np", "1", "--config-file", file.path(), "--cycle-time-ms", "9", "--no-stall-check", "x"});
  EXPECT_THAT(options.origins,
              UnorderedElementsAre(Pair("WEIR_CYCLE_TIME", "--cycle-time-ms"),
                                   Pair("WEIR_STALL_CHECK", "--no-stall-check"),
                                   Pair("WEIR_CACHE_CAPACITY", file.path() + ":3")));
}

TEST(Options, ArgumentsForMpiexecMayBeginWithADash) {
  const Options options =
      ParseOptions({"-np", "1", "--mpi-args", "-iface eth0", "--binding-args=-bind-to core", "x"});
  EXPECT_THAT(options.mpiexec_arguments, ElementsAre("-bind-to", "core", "-iface", "eth0"));
}

TEST(Options, AConfigFileSetsWhatTheCommandLineDoesNot) {
  const ConfigFile file(
      "verbose: true\n"
      "params:\n  fusion-threshold-mb: 32\n  cycle-time-ms: 3\n"
      "stall-check:\n  enabled: false\n"
      "logging:\n  hide-timestamp: true\n"
      "autotune:\n  enabled: false\n  log-file: f\n"
      "library-options:\n  num-nccl-streams: 2\n  mpi-threads-disable: false\n");
  const Options options =
      ParseOptions({"-np", "1", "--config-file", file.path(), "--cycle-time-ms", "9", "x"});
  EXPECT_THAT(
      options.environment,
      UnorderedElementsAre(Pair("WEIR_FUSION_THRESHOLD", "33554432"), Pair("WEIR_CYCLE_TIME", "9"),
                           Pair("WEIR_STALL_CHECK", "false"), Pair("WEIR_AUTOTUNE", "false"),
                           Pair("WEIR_AUTOTUNE_LOG", "f"), Pair("WEIR_LOG_TIMESTAMPS", "false")));
  EXPECT_TRUE(options.verbose);
  EXPECT_THAT(options.notices,
              ElementsAre(HasSubstr("library-options.num-nccl-streams has no effect")));
}

TEST(Options, AnOptionHasOneValue) {
  ExpectRefused({"-np", "1", "--compression", "", "x"}, "option '--compression' needs a value");
  ExpectRefused({"-np"}, "option '--num-proc' (-np) needs a value");
  ExpectRefused({"-np", "python", "-c", "1"},
                "option '-np' needs a value: 'python' is not a number");
  ExpectRefused({"-np", "python"}, "option '-np' needs a value: 'python' is not a number");
  ExpectRefused(
      {"-np", "2", "--blacklist-cooldown-range", "5", "python", "-c", "1"},
      "option '--blacklist-cooldown-range' needs a second value: 'python' is not a number");
  ExpectRefused({"-np", "2", "--cycle-time-ms", "python", "-c", "1"},
                "--cycle-time-ms=python is not allowed");
  ExpectRefused({"-np", "2", "--transport", "python", "-c", "1"},
                "--transport=python is not allowed");
  ExpectRefused({"-np", "2", "--compression", "topk", "-x"}, "unknown option '-x'");
  ExpectRefused({"-np", "2", "-np", "3", "x"},
                "option '--num-proc' (-np) is given more than once; give it once");
  ExpectRefused({"-np", "2", "--hosts", "a", "-H", "b", "x"},
                "option '--hosts' is given more than");
}

TEST(Options, ASwitchIsGivenOnceInOneForm) {
  ExpectRefused({"-np", "1", "--strict", "--no-strict", "x"},
                "'--strict' and '--no-strict' say what to do about the same; give one of them");
  ExpectRefused({"-np", "1", "--no-summary", "--summary", "x"}, "give one of them");
  ExpectRefused({"-np", "1", "--log-hide-timestamp", "--log-with-timestamp", "x"},
                "'--log-with-timestamp' and '--log-hide-timestamp' say what");
  ExpectRefused({"-np", "1", "--strict", "--strict", "x"},
                "option '--strict' is given more than once; give it once");
}

TEST(Options, ASwitchTakesNoValue) {
  ExpectRefused(
      {"-np", "1", "--strict=false", "x"},
      "option '--strict' takes no value; leave '=false' out; '--no-strict' is the opposite");
  ExpectRefused({"-np", "1", "--tcp=false", "x"},
                "option '--tcp' takes no value; leave '=false' out");
  ExpectRefused({"-np", "1", "--dry-run=0", "x"}, "'--dry-run' takes no value");
}

TEST(Options, AConfigFileOfHorovodIsTakenAsItIs) {
  const ConfigFile file(
      "controller: gloo\n"
      "params:\n  fusion_threshold_mb: 32\n  hierarchical_allreduce: true\n"
      "timeline:\n  filename: f\n  mark_cycles: true\n"
      "stall_check:\n  enabled: true\n  warning_time_seconds: 120\n"
      "autotune:\n  enabled: false\n  warmup_samples: 5\n  gaussian_process_noise: 0.8\n"
      "library_options:\n  mpi_threads_disable: false\n  gloo_timeout_seconds: 60\n"
      "logging:\n  level: INFO\n  with_timestamp: true\n");
  const Options options = ParseOptions({"-np", "1", "--config-file", file.path(), "x"});
  EXPECT_THAT(options.environment,
              UnorderedElementsAre(
                  Pair("WEIR_TRANSPORT", "ucx"), Pair("WEIR_FUSION_THRESHOLD", "33554432"),
                  Pair("WEIR_HIERARCHICAL_ALLREDUCE", "true"), Pair("WEIR_TIMELINE", "f"),
                  Pair("WEIR_TIMELINE_MARK_CYCLES", "true"), Pair("WEIR_STALL_CHECK", "true"),
                  Pair("WEIR_STALL_CHECK_TIME_SECONDS", "120"), Pair("WEIR_LOG_LEVEL", "INFO"),
                  Pair("WEIR_LOG_TIMESTAMPS", "true"), Pair("WEIR_AUTOTUNE", "false"),
                  Pair("WEIR_AUTOTUNE_WARMUP_SAMPLES", "5")));
  EXPECT_THAT(options.notices,
              ElementsAre(HasSubstr("autotune.gaussian-process-noise has no effect"),
                          HasSubstr("library-options.gloo-timeout-seconds has no effect")));
}

TEST(Options, MistakesInAConfigFileAreNamedWithTheirLine) {
  for (const auto& [text, message] : std::vector<std::pair<std::string, std::string>>{
           {"params:\n  cycle-time: 3\n", ":2: params.cycle-time: unknown key"},
           {"params:\n  cycle-time: 3\n", "did you mean 'cycle-time-ms'?"},
           {"parms:\n  x: 3\n", ":1: unknown key 'parms'; did you mean 'params'?"},
           {"params:\n  cycle-time-ms: soon\n", ":2: params.cycle-time-ms"},
           {"params:\n  cycle-time-ms: [1, 2]\n", "must be one value"},
           {"logging:\n  hide-timestamp: perhaps\n", "neither true nor false"},
           {"logging:\n  hide-timestamp: true\n  with-timestamp: true\n",
            ":3: logging.with-timestamp and the line at"},
           {"verbose: perhaps\n", ":1: verbose: 'perhaps' is neither true nor false"},
           {"\njust text\n", ":2: the file is a single value 'just text'; lines"},
           {"params:\n---\nparams:\n", ":2: a second document begins"},
           {", params:\n", ":1: what begins here is not YAML"},
           {"- params\n", ":1: the file is a list; lines"},
           {"\nparams: 3\n", ":2: params is a single value '3'; lines"},
           {"params:\n  - 3\n", ":2: params is a list; lines"},
           {"params:\n  cycle-time-ms: 3\n  cycle-time-ms: 4\n",
            ":3: 'cycle-time-ms' appears a second time"},
           {"params:\n  cycle-time-ms: 3\nparams:\n", ":3: 'params' appears a second time"},
           {"[a]: 3\n", ":1: a key must be a word"},
           {"verbose: true\nzebra: 3\n",
            ":2: unknown key 'zebra'; known are: controller, verbose, autotune, library-options, "},
           {"controller: mpich\n",
            ":1: controller mpich: unknown key 'mpich'; known are: mpi, gloo, jsrun"},
           {"params:\n  cycle_time_ms: 3\n  cycle-time-ms: 4\n", "appears a second time"},
           {"autotune:\n  enabled: soon\n", ":2: autotune.enabled"},
           {"autotune:\n  logfile: x\n", "did you mean 'log-file'?"},
           {"library-options:\n  nccl-streams: 2\n", "unknown key 'nccl-streams'"},
           {"params: [\n", "config-"}}) {
    const ConfigFile file(text);
    ExpectRefused({"-np", "1", "--config-file", file.path(), "x"}, message);
  }
  ExpectRefused({"-np", "1", "--config-file", "/no/such/file", "x"}, "cannot read '/no/such/file'");
  ExpectRefused({"-np", "1", "--config-file", "/tmp", "x"}, "'/tmp' is a folder; give a file");
}

TEST(Options, AConfigFileMayBeEmptyAndSoMayItsSections) {
  for (const char* text : {"", "# nothing\n", "params:\n"}) {
    const ConfigFile file(text);
    EXPECT_THAT(ParseOptions({"-np", "1", "--config-file", file.path(), "x"}).environment,
                IsEmpty());
  }
}

}  // namespace
}  // namespace weir::launcher
