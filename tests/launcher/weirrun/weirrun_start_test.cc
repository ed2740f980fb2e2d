#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <string>

#include "tests/launcher/launched_job.h"
#include "tests/paths.h"

namespace weir::launcher {
namespace {

using testing::HasSubstr;

// Script of all ranks but rank 0 while that one joins the job: MPI
// itself would wait for them for ever.
LaunchedJob JoinedByRankZero(const std::string& others) {
  return LaunchedJob(
      {"-np", "3", "--start-timeout", "5", "sh", "-c",
       "test $PMI_RANK = 0 || " + others + "; exec " + BuildPath("bin/summing_rank")});
}

TEST(Weirrun, AMissingMpiexecIsNamed) {
  LaunchedJob job({"-np", "2", "true"}, {{"WEIR_MPIEXEC", "/no/such/mpiexec"}});
  EXPECT_EQ(job.ExitCode(), 2);
  EXPECT_THAT(job.output(), HasSubstr("WEIR_MPIEXEC is '/no/such/mpiexec'"));
}

TEST(Weirrun, TooFewPortsForMetricsAreSaidBeforeAnythingStarts) {
  LaunchedJob job({"-np", "2", "--metrics-port", "65535", "true"},
                  {{"WEIR_MPIEXEC", "/no/such/mpiexec"}});
  EXPECT_EQ(job.ExitCode(), 2);
  EXPECT_THAT(job.output(), HasSubstr("--metrics-port 65535 leaves ports for 1 of the 2 ranks"));
}

TEST(Weirrun, AFailingMpiexecIsNoHang) {
  LaunchedJob job({"-np", "2", "true"}, {{"WEIR_MPIEXEC", "/bin/false"}});
  EXPECT_EQ(job.ExitCode(), 1);
  EXPECT_THAT(job.output(),
              HasSubstr("mpiexec ended with exit code 1 before it had started ranks 0-1"));
}

TEST(Weirrun, RanksThatDoNotStartInTimeAreNamed) {
  LaunchedJob job({"-np", "2", "--start-timeout", "0.2", "true"},
                  {{"WEIR_MPIEXEC", TreePath("tests/launcher/stand_ins/sleeping_mpiexec.sh")}});
  EXPECT_EQ(job.ExitCode(), 1);
  job.WaitForLastProcess();
  EXPECT_THAT(job.output(), HasSubstr("ranks 0-1 on localhost did not start"));
}

TEST(Weirrun, RanksThatEndWithoutJoiningAreNoHang) {
  LaunchedJob job = JoinedByRankZero("exit 0");
  EXPECT_EQ(job.ExitCode(), 1);
  job.WaitForLastProcess();
  EXPECT_THAT(job.output(), HasSubstr("exited (exit code 0) and so cannot join the job, where rank "
                                      "0 on localhost waits for it"));
}

TEST(Weirrun, RanksThatDoNotJoinInTimeAreNamed) {
  LaunchedJob job = JoinedByRankZero("exec sleep 3600");
  EXPECT_EQ(job.ExitCode(), 1);
  job.WaitForLastProcess();
  EXPECT_THAT(job.output(),
              HasSubstr("ranks 1-2 on localhost did not join the job (init() or Engine::Create) "
                        "within the start timeout of 5 s, where rank 0 on localhost waits"));
}

TEST(Weirrun, RanksThatAreGoneWhenOthersJoinAgainAreNoHang) {
  LaunchedJob job({"-np", "2", "--start-timeout", "5", BuildPath("bin/rejoining_rank")});
  EXPECT_EQ(job.ExitCode(), 1);
  job.WaitForLastProcess();
  EXPECT_THAT(job.output(), HasSubstr("rank 1 on localhost: is ending and so cannot join the job, "
                                      "where rank 0 on localhost waits for it"));
}

TEST(Weirrun, WhatAnSshSaysIsKnownWithoutMpiexec) {
  LaunchedJob job({"-np", "2", "-H", "node-a:1,node-b:1", "--network-interface", "lo", "true"},
                  {{"HYDRA_LAUNCHER_EXEC", TreePath("tests/launcher/stand_ins/refusing_ssh.sh")},
                   {"WEIR_MPIEXEC", TreePath("tests/launcher/stand_ins/deaf_mpiexec.sh")}});
  EXPECT_EQ(job.ExitCode(), 1);
  job.WaitForLastProcess();
  EXPECT_THAT(job.output(), HasSubstr("Warning: a matter of no weight\nPermission denied\n"));
  EXPECT_THAT(job.output(), HasSubstr("node-a did not start: ssh ended with exit code 255: "
                                      "Permission denied; ended the job"));
}

TEST(Weirrun, AnSshThatWaitsForItsHostIsEndedWithTheJob) {
  for (const int signal : {0, SIGINT}) {
    LaunchedJob job(
        {"-np", "2", "-H", "node-a:1,node-b:1", "--network-interface", "lo", "--start-timeout",
         signal == 0 ? "0.2" : "3600", "--mpi-args", "-verbose", "--verbose", "true"},
        {{"HYDRA_LAUNCHER_EXEC", TreePath("tests/launcher/stand_ins/sleeping_ssh.sh")}});
    job.WaitForLine("Launch arguments");
    if (signal != 0) job.Signal(signal);
    EXPECT_EQ(job.ExitCode(), signal == 0 ? 1 : 128 + signal);
    job.WaitForLastProcess();
  }
}

}  // namespace
}  // namespace weir::launcher
