// weirrun over UCX, which starts an agent of its own on every host.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <string>

#include "tests/launcher/launched_job.h"
#include "tests/paths.h"

namespace weir::launcher {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::map<std::string, std::string> Ssh(const std::string& stand_in) {
  return {{"HYDRA_LAUNCHER_EXEC", TreePath("tests/launcher/stand_ins/" + stand_in)},
          {"WEIR_MPIEXEC", "/no/such/mpiexec"}};
}

/// Returns the process that has started the one of this id.
pid_t ParentOf(pid_t process) {
  std::ifstream status("/proc/" + std::to_string(process) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("PPid:")) return std::stoi(line.substr(5));
  }
  ADD_FAILURE() << "process " << process << " is not there";
  return 0;
}

TEST(WeirrunOverUcx, ADryRunShowsWhatReachesEachHost) {
  LaunchedJob job({"--gloo", "-np", "3", "-H", "node-a:1,node-b:2", "--network-interface", "lo",
                   "-p", "2222", "--dry-run", "true"});
  EXPECT_EQ(job.ExitCode(), 0);
  EXPECT_THAT(job.output(),
              testing::ContainsRegex("ssh .* -p 2222 node-a .*--supervise-host node-a"));
  EXPECT_THAT(job.output(),
              testing::ContainsRegex("ssh .* -p 2222 node-b .*--supervise-host node-b"));
  EXPECT_THAT(job.output(), HasSubstr("rank 0 on node-a\n  ranks 1-2 on node-b\n"));
}

TEST(WeirrunOverUcx, TheNetworkAndItsVersionAreNamed) {
  for (const auto& [transport, name] : {std::pair("ucx", "network: UCX 1\\.[0-9.]+ \\(.*libucp"),
                                        std::pair("mpi", "network: MPI \\([A-Z]")}) {
    LaunchedJob job({"--transport", transport, "-np", "2", "--log-level", "info",
                     BuildPath("bin/summing_rank")});
    EXPECT_EQ(job.ExitCode(), 0);
    EXPECT_THAT(job.output(), testing::ContainsRegex(name));
  }
}

TEST(WeirrunOverUcx, RanksNeedNeitherMpiexecNorItsVariables) {
  LaunchedJob job({"--gloo", "-np", "2", "-H", "node-a:1,node-b:1", "--network-interface", "lo",
                   "sh", "-c", "echo rank $HOROVOD_RANK of ${PMI_SIZE:-no PMI} in $PWD with $MINE"},
                  [] {
                    auto environment = Ssh("here_instead_of_ssh.sh");
                    environment["MINE"] = "two words";
                    return environment;
                  }());
  EXPECT_EQ(job.ExitCode(), 0);
  const std::string here = std::filesystem::current_path();
  EXPECT_THAT(job.output(),
              AllOf(HasSubstr("[0] rank 0 of no PMI in " + here + " with two words\n"),
                    HasSubstr("[1] rank 1 of no PMI in " + here + " with two words\n")));
}

TEST(WeirrunOverUcx, WhatAnSshSaysIsTheReason) {
  LaunchedJob job(
      {"--gloo", "-np", "2", "-H", "node-a:1,node-b:1", "--network-interface", "lo", "true"},
      Ssh("refusing_ssh.sh"));
  EXPECT_EQ(job.ExitCode(), 1);
  job.WaitForLastProcess();
  EXPECT_THAT(job.output(),
              HasSubstr("did not start: ssh ended with exit code 255: Permission denied"));
}

TEST(WeirrunOverUcx, AnSshThatWaitsForItsHostIsEndedWithTheJob) {
  for (const int signal : {0, SIGINT}) {
    LaunchedJob job({"--gloo", "-np", "2", "-H", "node-a:1,node-b:1", "--network-interface", "lo",
                     "--start-timeout", signal == 0 ? "0.2" : "3600", "--verbose", "true"},
                    Ssh("sleeping_ssh.sh"));
    job.WaitForLine("--supervise-host node-b");
    if (signal != 0) job.Signal(signal);
    EXPECT_EQ(job.ExitCode(), signal == 0 ? 1 : 128 + signal);
    job.WaitForLastProcess();
    if (signal == 0) {
      EXPECT_THAT(job.output(), HasSubstr("rank 0 on node-a, rank 1 on node-b did not start"));
    }
  }
}

TEST(WeirrunOverUcx, AKilledAgentEndsTheJob) {
  LaunchedJob job({"--gloo", "-np", "2", "--grace-seconds", "0.5", BuildPath("bin/rank_program")});
  std::smatch match;
  const std::string line = job.WaitForLines("is process", 2).back();
  ASSERT_TRUE(std::regex_search(line, match, std::regex("is process (\\d+)"))) << line;
  const pid_t agent = ParentOf(ParentOf(std::stoi(match[1])));
  kill(agent, SIGKILL);
  EXPECT_EQ(job.ExitCode(), 137);
  ExpectNothingLeft(job);
  EXPECT_THAT(job.output(), HasSubstr("weirrun ended with signal 9 (Killed)"));
}

TEST(WeirrunOverUcx, AnAgentWithoutAJobSaysSo) {
  LaunchedJob job({"--supervise-host", "node-a"}, {}, "GET / HTTP/1.1\r\nHost: node-a\r\n\r\n");
  EXPECT_EQ(job.ExitCode(), 1);
  EXPECT_THAT(job.output(), HasSubstr("stdin does not begin with a host's job"));
}

TEST(WeirrunOverUcx, WhatOnlyMpiexecCouldDoIsSaid) {
  LaunchedJob job({"--gloo", "-np", "1", "--binding-args", "-bind-to hwthread", "true"});
  EXPECT_EQ(job.ExitCode(), 0);
  EXPECT_THAT(job.output(), HasSubstr("--binding-args have no effect: over UCX"));
}

}  // namespace
}  // namespace weir::launcher
