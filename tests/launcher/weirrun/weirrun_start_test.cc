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
       "test $HOROVOD_RANK = 0 || " + others + "; exec " + BuildPath("bin/summing_rank")});
}

TEST(Weirrun, TooFewPortsForMetricsAreSaidBeforeAnythingStarts) {
  LaunchedJob job({"-np", "2", "--metrics-port", "65535", "true"},
                  {{"WEIR_MPIEXEC", "/no/such/mpiexec"}});
  EXPECT_EQ(job.ExitCode(), 2);
  EXPECT_THAT(job.output(), HasSubstr("--metrics-port 65535 leaves ports for 1 of the 2 ranks"));
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
  // Over MPI the other rank waits in MPI's finalisation; over UCX it has nothing to wait for.
  EXPECT_THAT(job.output(), testing::ContainsRegex(
                                "rank 1 on localhost: (is ending|exited .exit code 0.) and so "
                                "cannot join the job, where rank 0 on localhost waits for it"));
}

}  // namespace
}  // namespace weir::launcher
