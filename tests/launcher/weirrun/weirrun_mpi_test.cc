// weirrun over MPI, whose mpiexec starts the supervisors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <regex>

#include "tests/launcher/launched_job.h"
#include "tests/paths.h"

namespace weir::launcher {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST(WeirrunOverMpi, AMissingMpiexecIsNamed) {
  LaunchedJob job({"--mpi", "-np", "2", "true"}, {{"WEIR_MPIEXEC", "/no/such/mpiexec"}});
  EXPECT_EQ(job.ExitCode(), 2);
  EXPECT_THAT(job.output(), HasSubstr("WEIR_MPIEXEC is '/no/such/mpiexec'"));
}

TEST(WeirrunOverMpi, AFailingMpiexecIsNoHang) {
  LaunchedJob job({"--mpi", "-np", "2", "true"}, {{"WEIR_MPIEXEC", "/bin/false"}});
  EXPECT_EQ(job.ExitCode(), 1);
  EXPECT_THAT(job.output(),
              HasSubstr("mpiexec ended with exit code 1 before it had started ranks 0-1"));
}

TEST(WeirrunOverMpi, RanksThatDoNotStartInTimeAreNamed) {
  LaunchedJob job({"--mpi", "-np", "2", "--start-timeout", "0.2", "true"},
                  {{"WEIR_MPIEXEC", TreePath("tests/launcher/stand_ins/sleeping_mpiexec.sh")}});
  EXPECT_EQ(job.ExitCode(), 1);
  job.WaitForLastProcess();
  EXPECT_THAT(job.output(), HasSubstr("ranks 0-1 on localhost did not start"));
}

TEST(WeirrunOverMpi, WhatAnSshSaysIsKnownWithoutMpiexec) {
  LaunchedJob job(
      {"--mpi", "-np", "2", "-H", "node-a:1,node-b:1", "--network-interface", "lo", "true"},
      {{"HYDRA_LAUNCHER_EXEC", TreePath("tests/launcher/stand_ins/refusing_ssh.sh")},
       {"WEIR_MPIEXEC", TreePath("tests/launcher/stand_ins/deaf_mpiexec.sh")}});
  EXPECT_EQ(job.ExitCode(), 1);
  job.WaitForLastProcess();
  EXPECT_THAT(job.output(), HasSubstr("Warning: a matter of no weight\nPermission denied\n"));
  EXPECT_THAT(job.output(), HasSubstr("node-a did not start: ssh ended with exit code 255: "
                                      "Permission denied; ended the job"));
}

TEST(WeirrunOverMpi, AnSshThatWaitsForItsHostIsEndedWithTheJob) {
  for (const int signal : {0, SIGINT}) {
    LaunchedJob job(
        {"--mpi", "-np", "2", "-H", "node-a:1,node-b:1", "--network-interface", "lo",
         "--start-timeout", signal == 0 ? "0.2" : "3600", "--mpi-args", "-verbose", "--verbose",
         "true"},
        {{"HYDRA_LAUNCHER_EXEC", TreePath("tests/launcher/stand_ins/sleeping_ssh.sh")}});
    job.WaitForLine("Launch arguments");
    if (signal != 0) job.Signal(signal);
    EXPECT_EQ(job.ExitCode(), signal == 0 ? 1 : 128 + signal);
    job.WaitForLastProcess();
  }
}

TEST(WeirrunOverMpi, ADryRunStartsNothing) {
  LaunchedJob job(
      {"--mpi", "-np", "2", "--dry-run", "--cycle-time-ms", "2", "sh", "-c", "echo started"});
  EXPECT_EQ(job.ExitCode(), 0);
  EXPECT_THAT(job.output(), HasSubstr(" --supervise -- sh -c 'echo started'\n"));
  EXPECT_THAT(job.output(), HasSubstr("ranks 0-1 on localhost\n"));
  EXPECT_THAT(job.output(), HasSubstr("WEIR_CYCLE_TIME=2\n"));
  EXPECT_THAT(job.output(), Not(HasSubstr("[0]")));
}

TEST(WeirrunOverMpi, RanksAreBoundAsAsked) {
  LaunchedJob job({"--mpi", "-np", "1", "--binding-args", "-bind-to hwthread", "grep",
                   "Cpus_allowed_list", "/proc/self/status"});
  EXPECT_EQ(job.ExitCode(), 0);
  EXPECT_TRUE(std::regex_search(job.output(), std::regex("Cpus_allowed_list:\\s+\\d+\n")))
      << job.output();
}

TEST(WeirrunOverMpi, ARankThatEndsWithoutItsExitHandlersKeepsNobodyInMpi) {
  LaunchedJob job({"--mpi", "-np", "3", BuildPath("bin/parting_rank"), "exit"});
  EXPECT_EQ(job.ExitCode(), 0);
  job.WaitForLastProcess();
  EXPECT_THAT(job.output(), AllOf(HasSubstr("rank 1 has ended"), HasSubstr("rank 2 has ended"),
                                  Not(HasSubstr("BAD TERMINATION"))));
}

TEST(WeirrunOverMpi, AProgramMayFinaliseMpiItselfOnSomeRanks) {
  for (const char* way : {"finalize", "own"}) {
    LaunchedJob job({"--mpi", "-np", "3", BuildPath("bin/parting_rank"), way});
    EXPECT_EQ(job.ExitCode(), 0) << way;
    job.WaitForLastProcess();
    EXPECT_THAT(job.output(), AllOf(HasSubstr("rank 0 has ended"), HasSubstr("rank 1 has ended"),
                                    HasSubstr("rank 2 has ended")));
  }
}

TEST(WeirrunOverMpi, AProgramThatFinalisesMpiWithoutARankIsToldOfIt) {
  LaunchedJob job({"--mpi", "-np", "3", BuildPath("bin/parting_rank"), "exit-and-finalize"});
  EXPECT_EQ(job.ExitCode(), 1);
  job.WaitForLastProcess();
  EXPECT_THAT(job.output(), HasSubstr("MPI_Finalize, which the program calls itself, waits for all "
                                      "ranks, and rank 0 has ended without it"));
}

TEST(WeirrunOverMpi, AnAbortOfMpisOwnEndsTheJobWithItsCode) {
  LaunchedJob job({"--mpi", "-np", "3", "--grace-seconds", "1", BuildPath("bin/rank_program"), "1",
                   "mpi-abort"});
  EXPECT_EQ(job.ExitCode(), 5);
  ExpectNothingLeft(job);
  // The rank's own exit may or may not be seen before Hydra's.
  EXPECT_THAT(job.output(), testing::ContainsRegex(
                                "weirrun: (mpiexec ended with|rank 1 on localhost:) exit code 5"));
}

}  // namespace
}  // namespace weir::launcher
