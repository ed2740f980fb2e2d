// A rank that ends in the middle of an exchange: the others' engines name it, weirrun names it and
// how it ended, and nothing is left.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <ostream>
#include <string>
#include <tuple>

#include "tests/launcher/launched_job.h"
#include "tests/paths.h"

namespace weir::launcher {
namespace {

using testing::HasSubstr;
using testing::Not;

struct Death {
  std::string deed;
  int code;
  std::string how;

  friend void PrintTo(const Death& death, std::ostream* out) { *out << death.deed; }
};

class Deaths : public testing::TestWithParam<std::tuple<std::string, std::string, Death>> {};

TEST_P(Deaths, AreToldToEverySurvivorAndToTheUser) {
  const auto& [transport, work, death] = GetParam();
  LaunchedJob job(
      {"-np", "3", "--transport", transport, BuildPath("bin/doomed_rank"), "1", work, death.deed});
  EXPECT_EQ(job.ExitCode(), death.code) << job.output();
  ExpectNothingLeft(job);
  const std::string end = "rank 1 on localhost";
  for (const char* survivor : {"[0] ", "[2] "}) {
    EXPECT_THAT(job.output(), HasSubstr(survivor + ("PeerLost: 1: " + end)));
  }
  EXPECT_THAT(job.output(), Not(HasSubstr("another error")));
  EXPECT_THAT(job.output(), HasSubstr("PeerLost: 1: " + end + " is lost: " + death.how));
  EXPECT_THAT(job.output(), HasSubstr("weirrun: " + end + ": " + death.how));
}

INSTANTIATE_TEST_SUITE_P(
    , Deaths,
    testing::Combine(testing::Values("mpi", "ucx"), testing::Values("allreduce", "dgc"),
                     testing::Values(Death{"kill", 137, "signal 9 (Killed)"},
                                     Death{"exit", 3, "exit code 3"},
                                     Death{"terminate", 134, "signal 6 (Aborted)"})),
    [](const auto& test) {
      return std::get<0>(test.param) + "_" + std::get<1>(test.param) + "_" +
             std::get<2>(test.param).deed;
    });

/// The process of that name in whose environment `mark` stands.
pid_t FindProcess(const std::string& name, const std::string& mark) {
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string pid = entry.path().filename();
    if (pid.find_first_not_of("0123456789") != std::string::npos) continue;
    const auto read = [&](const char* file) {
      std::ifstream in(entry.path() / file);
      return std::string(std::istreambuf_iterator<char>(in), {});
    };
    if (read("comm") == name + "\n" && read("environ").find(mark) != std::string::npos)
      return std::stoi(pid);
  }
  return -1;
}

TEST(SummationServers, TheirDeathIsToldToEveryRankAndToTheUser) {
  const std::string mark = "of-test-" + std::to_string(getpid());
  LaunchedJob job(
      {"-np", "2", "--servers", "1", BuildPath("bin/doomed_rank"), "0", "push_pull", "go-on"},
      {{"WEIR_TEST_MARK", mark}});
  job.WaitForLine("goes on");
  const pid_t server = FindProcess("weir-server", mark);
  ASSERT_GT(server, 0);
  kill(server, SIGKILL);
  EXPECT_EQ(job.ExitCode(), 137) << job.output();
  ExpectNothingLeft(job);
  for (const char* survivor : {"[0] ", "[1] "}) {
    EXPECT_THAT(job.output(), HasSubstr(survivor + std::string("PeerLost: 2: summation server 0 on "
                                                               "localhost is lost: signal 9")));
  }
  EXPECT_THAT(job.output(),
              HasSubstr("weirrun: summation server 0 on localhost: signal 9 (Killed)"));
}

TEST(SummationServers, EndWithARankThatDies) {
  LaunchedJob job(
      {"-np", "2", "--servers", "2", BuildPath("bin/doomed_rank"), "1", "push_pull", "kill"});
  EXPECT_EQ(job.ExitCode(), 137) << job.output();
  ExpectNothingLeft(job);
  EXPECT_THAT(job.output(), HasSubstr("[0] PeerLost: 1: rank 1 on localhost is lost: signal 9"));
}

// The program catches its own exception outside of the engine's life.
TEST(Unwinding, InTheMiddleOfAStepEndsTheJobWithTheReason) {
  LaunchedJob job({"-np", "3", BuildPath("bin/doomed_rank"), "1", "dgc", "unwind"});
  EXPECT_NE(job.ExitCode(), 0);
  ExpectNothingLeft(job);
  EXPECT_THAT(job.output(), HasSubstr("[1] unwound: the data set is gone"));
  for (const char* survivor : {"[0] ", "[2] "}) {
    EXPECT_THAT(job.output(), HasSubstr(std::string(survivor) + "PeerLost: 1: rank 1 ended"));
  }
  EXPECT_THAT(job.output(), HasSubstr("'model' was destroyed in the middle of step 5"));
}

class RankZero : public testing::TestWithParam<std::string> {};

TEST_P(RankZero, DiesLikeAnyOther) {
  LaunchedJob job(
      {"-np", "4", "--transport", GetParam(), BuildPath("bin/doomed_rank"), "0", "dgc", "kill"});
  EXPECT_EQ(job.ExitCode(), 137);
  ExpectNothingLeft(job);
  for (const char* survivor : {"[1] ", "[2] ", "[3] "}) {
    EXPECT_THAT(job.output(),
                HasSubstr(std::string(survivor) + "PeerLost: 0: rank 0 on localhost"));
  }
}

INSTANTIATE_TEST_SUITE_P(, RankZero, testing::Values("mpi", "ucx"),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace weir::launcher
