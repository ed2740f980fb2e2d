#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <regex>

#include "tests/launcher/launched_job.h"
#include "tests/paths.h"
#include "tests/temporary_folder.h"

namespace weir::launcher {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const std::string kProgram = BuildPath("bin/rank_program");

pid_t ProcessOfRank(const std::vector<std::string>& lines, int rank) {
  for (const std::string& line : lines) {
    std::smatch match;
    const std::regex pattern("rank " + std::to_string(rank) + " is process (\\d+)");
    if (std::regex_search(line, match, pattern)) return std::stoi(match[1]);
  }
  ADD_FAILURE() << "rank " << rank << " did not say its process";
  return 0;
}

TEST(Weirrun, OutputIsPrefixedByWholeLines) {
  LaunchedJob job({"-np", "2", "sh", "-c", "printf a; printf 'b\\nc\\n'; printf d >&2"});
  EXPECT_EQ(job.ExitCode(), 0);
  for (const char* line : {"[0] ab\n", "[0] c\n", "[1] ab\n", "[1] c\n", "[0] d\n", "[1] d\n"}) {
    EXPECT_THAT(job.output(), HasSubstr(line));
  }
}

TEST(Weirrun, ALotOfOutputArrivesWholeAndInOrder) {
  LaunchedJob job(
      {"-np", "2", "--no-prefix", "sh", "-c", "seq 1 100000 | sed s/^/$HOROVOD_RANK:/"});
  EXPECT_EQ(job.ExitCode(), 0);
  std::istringstream lines(job.output());
  int next[2] = {1, 1};
  for (std::string line; std::getline(lines, line);) {
    const int rank = line[0] - '0';
    ASSERT_TRUE(rank == 0 || rank == 1) << line;
    ASSERT_EQ(line.substr(2), std::to_string(next[rank]++));
  }
  EXPECT_EQ(next[0], 100001);
  EXPECT_EQ(next[1], 100001);
}

TEST(Weirrun, ADryRunRefusesWhatARunRefuses) {
  LaunchedJob setting({"-np", "1", "--dry-run", "true"}, {{"WEIR_CYCLE_TIME", "soon"}});
  EXPECT_EQ(setting.ExitCode(), 2);
  LaunchedJob interface(
      {"-np", "1", "-H", "node-a", "--network-interface", "no0", "--dry-run", "x"});
  EXPECT_EQ(interface.ExitCode(), 2);
  EXPECT_THAT(interface.output(), HasSubstr("network interface 'no0'"));
}

TEST(Weirrun, SlurmsAllocationIsReadWithoutFlags) {
  const std::map<std::string, std::string> slurm = {{"SLURM_JOB_NODELIST", "node-[a-b]"},
                                                    {"SLURM_TASKS_PER_NODE", "1"}};
  LaunchedJob wrong({"--dry-run", "true"}, slurm);
  EXPECT_EQ(wrong.ExitCode(), 2);
  EXPECT_THAT(wrong.output(), HasSubstr("SLURM_JOB_NODELIST holds 'node-[a-b]'"));
  LaunchedJob many({"--dry-run", "true"},
                   {{"SLURM_JOB_NODELIST", "node-[1-2]"}, {"SLURM_TASKS_PER_NODE", "16384(x2)"}});
  EXPECT_EQ(many.ExitCode(), 2);
  EXPECT_THAT(many.output(), HasSubstr("SLURM_JOB_NODELIST makes 32768 ranks; give their number"));
  LaunchedJob job({"--dry-run", "true"}, {{"SLURM_JOB_NODELIST", "node-[1-2]"},
                                          {"SLURM_TASKS_PER_NODE", "2,1"},
                                          {"SLURM_NTASKS", "3"}});
  EXPECT_EQ(job.ExitCode(), 0);
  EXPECT_THAT(
      job.output(),
      HasSubstr("weirrun: hosts from SLURM_JOB_NODELIST: node-1:2,node-2:1, for 3 ranks\n"));
  EXPECT_THAT(job.output(), HasSubstr("ranks 0-1 on node-1\n  rank 2 on node-2\n"));
  LaunchedJob flags({"-np", "1", "-H", "localhost", "--dry-run", "true"}, slurm);
  EXPECT_EQ(flags.ExitCode(), 0);
  EXPECT_THAT(flags.output(), Not(HasSubstr("SLURM")));
}

TEST(Weirrun, HostsOfSlurmAreReachedBySrun) {
  LaunchedJob job({"--network-interface", "lo", "sh", "-c",
                   "echo rank $HOROVOD_RANK is $HOROVOD_LOCAL_RANK of $HOROVOD_LOCAL_SIZE"},
                  {{"PATH", TreePath("tests/launcher/stand_ins") + ":" + std::getenv("PATH")},
                   {"SLURM_JOB_NODELIST", "node-[1-2]"},
                   {"SLURM_TASKS_PER_NODE", "2,1"},
                   {"SLURM_NTASKS", "3"}});
  EXPECT_EQ(job.ExitCode(), 0);
  for (const char* line : {"rank 0 is 0 of 2", "rank 1 is 1 of 2", "rank 2 is 0 of 1"}) {
    EXPECT_THAT(job.output(), HasSubstr(line));
  }
}

TEST(Weirrun, StandardInputReachesRankZeroAlone) {
  LaunchedJob job({"-np", "2", "cat"}, {}, "first line\nsecond line\n");
  EXPECT_EQ(job.ExitCode(), 0);
  EXPECT_EQ(job.output(), "[0] first line\n[0] second line\n");
}

TEST(Weirrun, OptionsBecomeVariablesOfTheRanks) {
  LaunchedJob job(
      {"-np", "1", "--cycle-time-ms", "2.5", "--fusion-threshold-mb", "32", "--no-stall-check",
       "sh", "-c", "echo $WEIR_CYCLE_TIME $WEIR_FUSION_THRESHOLD $WEIR_STALL_CHECK $FORWARDED"},
      {{"FORWARDED", "yes"}});
  EXPECT_EQ(job.ExitCode(), 0);
  EXPECT_THAT(job.output(), HasSubstr("[0] 2.5 33554432 false yes\n"));
}

TEST(Weirrun, TheTokenIsNotShownToThePrograms) {
  LaunchedJob job({"-np", "1", "env"});
  EXPECT_EQ(job.ExitCode(), 0);
  EXPECT_THAT(job.output(), HasSubstr("WEIR_SUPERVISOR_FD="));
  EXPECT_THAT(job.output(), Not(HasSubstr("WEIR_LAUNCHER_TOKEN")));
}

TEST(Weirrun, OutputAlsoGoesToFiles) {
  const TemporaryFolder made;
  const std::filesystem::path& folder = made.path();
  LaunchedJob job({"-np", "2", "--output-filename", folder, "sh", "-c", "echo out; echo err >&2"});
  EXPECT_EQ(job.ExitCode(), 0);
  std::string text;
  std::getline(std::ifstream(folder / "rank.1" / "stderr"), text);
  EXPECT_EQ(text, "err");
}

TEST(Weirrun, OutputThatCannotBeWrittenIsNamedOnceAndFailsTheJob) {
  const TemporaryFolder made;
  const std::filesystem::path& folder = made.path();
  std::filesystem::create_directories(folder / "rank.0");
  std::filesystem::create_symlink("/dev/full", folder / "rank.0" / "stdout");
  const std::string file = folder / "rank.0" / "stdout";
  LaunchedJob to_stdout({"-np", "2", "echo", "hello"}, {}, {}, "exec >/dev/full");
  LaunchedJob to_file({"-np", "2", "--output-filename", folder, "echo", "hello"});
  for (auto& [job, what] :
       {std::pair(&to_stdout, std::string("standard output")), std::pair(&to_file, file)}) {
    EXPECT_EQ(job->ExitCode(), 1);
    const std::string line = "weirrun: cannot write to " + what + ": No space left on device";
    const std::size_t first = job->output().find(line);
    ASSERT_NE(first, std::string::npos) << job->output();
    EXPECT_EQ(job->output().find("cannot write", first + line.size()), std::string::npos);
  }
}

TEST(Weirrun, AFailingRanksCodeStandsEvenIfItsOutputIsLost) {
  LaunchedJob job({"-np", "1", "sh", "-c", "echo hello; exit 7"}, {}, {}, "exec >/dev/full");
  EXPECT_EQ(job.ExitCode(), 7);
}

TEST(Weirrun, AKilledRankIsNamedToItsPeersAndToTheUser) {
  LaunchedJob job({"-np", "3", kProgram});
  const pid_t victim = ProcessOfRank(job.WaitForLines("is process", 3), 1);
  const auto death = std::chrono::steady_clock::now();
  kill(victim, SIGKILL);
  job.WaitForLines("lost rank 1 on localhost: signal 9 (Killed)", 2);
  EXPECT_EQ(job.ExitCode(), 137);
  ExpectNothingLeft(job);
  EXPECT_LT(std::chrono::steady_clock::now() - death, std::chrono::seconds(5));
  EXPECT_THAT(job.output(), HasSubstr("[0] rank 0 ends\n"));
  EXPECT_THAT(job.output(), HasSubstr("[2] rank 2 ends\n"));
  EXPECT_THAT(job.output(), HasSubstr("weirrun: rank 1 on localhost: signal 9 (Killed); "));
}

TEST(Weirrun, AStoppedRankIsNamedAndEndedOnceItHasBeenSilent) {
  LaunchedJob job(
      {"-np", "3", "--heartbeat-timeout", "2", "--grace-seconds", "0.2", kProgram, "1", "stop"});
  job.WaitForLines("lost rank 1 on localhost: silent for 2 s: it is stopped by a signal", 2);
  EXPECT_EQ(job.ExitCode(), 1);
  ExpectNothingLeft(job);
  EXPECT_THAT(
      job.output(),
      HasSubstr("weirrun: rank 1 on localhost: silent for 2 s: it is stopped by a signal; "));
}

TEST(Weirrun, SurvivorsThatStayAreEndedAfterTheGraceTime) {
  LaunchedJob job({"-np", "2", "--grace-seconds", "0.2", kProgram, "0", "linger"});
  const pid_t victim = ProcessOfRank(job.WaitForLines("is process", 2), 1);
  const auto death = std::chrono::steady_clock::now();
  kill(victim, SIGKILL);
  EXPECT_EQ(job.ExitCode(), 137);
  ExpectNothingLeft(job);
  EXPECT_GT(std::chrono::steady_clock::now() - death, std::chrono::milliseconds(200));
}

struct Ending {
  std::string deed;
  int code;
  std::string text;
};
/// For the test's name, which would show the bytes otherwise.
void PrintTo(const Ending& ending, std::ostream* out) { *out << ending.deed; }
class WeirrunEnding : public testing::TestWithParam<Ending> {};

TEST_P(WeirrunEnding, GivesTheFirstFailuresCodeAndName) {
  LaunchedJob job({"-np", "3", "--grace-seconds", "1", kProgram, "1", GetParam().deed});
  EXPECT_EQ(job.ExitCode(), GetParam().code);
  ExpectNothingLeft(job);
  EXPECT_TRUE(std::regex_search(job.output(), std::regex("weirrun: " + GetParam().text)))
      << job.output();
}

INSTANTIATE_TEST_SUITE_P(
    , WeirrunEnding,
    testing::Values(Ending{"segv", 139, R"(rank 1 on localhost: signal 11 \(Segmentation fault\))"},
                    Ending{"abort", 134, R"(rank 1 on localhost: signal 6 \(Aborted\))"},
                    Ending{"exit3", 3, "rank 1 on localhost: exit code 3"},
                    Ending{"exit0", 1,
                           R"(rank 1 on localhost: exited without leaving \(exit code 0\))"},
                    Ending{"engine-abort", 4,
                           "rank 1 on localhost ended the job: the checksum of layer.0 is wrong"}),
    [](const auto& test) { return std::regex_replace(test.param.deed, std::regex("-"), ""); });

TEST(Weirrun, AnAbortNamesRankAndReasonToTheOthers) {
  LaunchedJob job({"-np", "2", kProgram, "1", "engine-abort"});
  job.WaitForLine("[0] aborted by rank 1: the checksum of layer.0 is wrong");
}

TEST(Weirrun, RanksThatLeaveAreNoLoss) {
  LaunchedJob job({"-np", "3", kProgram, "1", "leave"});
  EXPECT_EQ(job.ExitCode(), 0);
  EXPECT_THAT(job.output(), Not(HasSubstr("lost rank")));
}

TEST(Weirrun, RanksThatEndTogetherWithoutLeavingAreNoLoss) {
  LaunchedJob job({"-np", "3", kProgram, "all", "exit0"});
  EXPECT_EQ(job.ExitCode(), 0);
}

TEST(Weirrun, StatusOfEveryRankReachesRankZero) {
  LaunchedJob job({"-np", "3", kProgram, "1", "status"});
  for (const std::string& line : job.WaitForLines("got status of", 3)) {
    EXPECT_THAT(line, HasSubstr("[0] got status of "));
  }
}

TEST(Weirrun, InterruptsEndTheJob) {
  for (const int signal : {SIGINT, SIGTERM}) {
    LaunchedJob job({"-np", "2", kProgram});
    job.WaitForLines("is process", 2);
    job.Signal(signal);
    EXPECT_EQ(job.ExitCode(), 128 + signal);
    ExpectNothingLeft(job);
  }
}

TEST(Weirrun, ASecondInterruptLeavesNoGrace) {
  LaunchedJob job({"-np", "2", "--grace-seconds", "3600", kProgram, "all", "linger"});
  job.WaitForLines("lingering", 2);
  job.Signal(SIGINT);
  job.Signal(SIGTERM);
  EXPECT_EQ(job.ExitCode(), 130);
  ExpectNothingLeft(job);
}

TEST(Weirrun, WhenWeirrunItselfIsKilledNothingIsLeft) {
  LaunchedJob job({"-np", "2", "--grace-seconds", "0.5", kProgram});
  job.WaitForLines("is process", 2);
  job.Signal(SIGKILL);
  EXPECT_TRUE(WIFSIGNALED(job.WaitStatus()));
  ExpectNothingLeft(job);
}

TEST(Weirrun, ABrokenPipeEndsTheJob) {
  LaunchedJob job({"-np", "2", "yes"});
  job.WaitForLine("[0] y");
  job.CloseOutput();
  EXPECT_EQ(job.ExitCode(), 128 + SIGPIPE);
  job.WaitForLastProcess();
}

TEST(Weirrun, WhatAProgramLeavesRunningIsEnded) {
  LaunchedJob job({"-np", "2", "sh", "-c", "sleep 3600 & setsid sleep 3600 & echo gone"});
  EXPECT_EQ(job.ExitCode(), 0);
  job.WaitForLastProcess();
}

TEST(Weirrun, AProgramThatIsNotThereIsNamed) {
  LaunchedJob job({"-np", "2", "./no-such-program"});
  EXPECT_EQ(job.ExitCode(), 127);
  EXPECT_THAT(job.output(), HasSubstr("cannot run './no-such-program': No such file"));
}

TEST(Weirrun, AWrongSettingIsRefusedBeforeAnythingStarts) {
  LaunchedJob job({"-np", "1", "echo", "started"}, {{"WEIR_CYCLE_TIME", "soon"}});
  EXPECT_EQ(job.ExitCode(), 2);
  EXPECT_THAT(job.output(), HasSubstr("WEIR_CYCLE_TIME"));
  EXPECT_THAT(job.output(), Not(HasSubstr("started")));
}

TEST(Weirrun, StrictRefusesOptionsAndVariablesWithoutEffect) {
  LaunchedJob option({"-np", "1", "--strict", "--num-nccl-streams", "2", "echo", "started"});
  EXPECT_EQ(option.ExitCode(), 2);
  EXPECT_THAT(option.output(), HasSubstr("--num-nccl-streams has no effect"));
  EXPECT_THAT(option.output(), Not(HasSubstr("[0] started")));
  LaunchedJob variable({"-np", "1", "echo"}, {{"WEIR_STRICT", "1"}, {"WEIR_CYCLE_TIMES", "2"}});
  EXPECT_EQ(variable.ExitCode(), 2);
  EXPECT_THAT(variable.output(), HasSubstr("did you mean 'WEIR_CYCLE_TIME'?"));
  LaunchedJob fine({"-np", "1", "--strict", "sh", "-c", "echo strict is $WEIR_STRICT"});
  EXPECT_EQ(fine.ExitCode(), 0);
  EXPECT_THAT(fine.output(), HasSubstr("[0] strict is true\n"));
}

TEST(Weirrun, SaysWhatItIsAndWhatItCanDo) {
  LaunchedJob version({"--version"});
  EXPECT_EQ(version.ExitCode(), 0);
  EXPECT_THAT(version.output(), testing::ContainsRegex("[0-9]+[.][0-9]+[.][0-9]+"));
  LaunchedJob build({"-cb"});
  EXPECT_EQ(build.ExitCode(), 0);
  EXPECT_THAT(build.output(),
              AllOf(HasSubstr("Available Controllers:\n    [X] MPI ("),
                    HasSubstr("Available Tensor Operations:\n    [X] MPI\n"),
                    HasSubstr("[X] UCX (1."), HasSubstr("] CUDA ("), HasSubstr("] NCCL (")));
  LaunchedJob without({"-cb"}, {{"WEIR_UCX_LIBRARY", "/nowhere/libucp.so.0"}});
  EXPECT_EQ(without.ExitCode(), 0);
  EXPECT_THAT(without.output(), HasSubstr("[ ] UCX (/nowhere/libucp.so.0"));
}

TEST(Weirrun, AnEngineThatIsHeldToTheEndHearsNothingThatIsMeantForTheProcess) {
  for (int run = 0; run < 3; ++run) {
    LaunchedJob job({"-np", "3", BuildPath("bin/held_rank")});
    EXPECT_EQ(job.ExitCode(), 0);
    job.WaitForLastProcess();
  }
}

TEST(Weirrun, LinesMayBeginWithTheTime) {
  LaunchedJob job({"-np", "1", "-prefix-timestamp", "echo", "hi"});
  EXPECT_EQ(job.ExitCode(), 0);
  EXPECT_THAT(job.output(), testing::ContainsRegex("[0-9][0-9]:[0-9][0-9]:[0-9][0-9].*\\[0\\] hi"));
}

TEST(Weirrun, TheEffectiveConfigurationIsPrintedAtLevelInfo) {
  LaunchedJob job(
      {"-np", "1", "--log-level", "info", "--cycle-time-ms", "7", BuildPath("bin/summing_rank")});
  EXPECT_EQ(job.ExitCode(), 0);
  EXPECT_THAT(job.output(), AllOf(HasSubstr("WEIR_CYCLE_TIME"), HasSubstr("--cycle-time-ms"),
                                  HasSubstr("WEIR_FUSION_THRESHOLD"), HasSubstr("default")));
}

}  // namespace
}  // namespace weir::launcher
