// weirrun with hosts that exist only for a stand-in of ssh, which runs the commands here.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <string>
#include <vector>

#include "common/supervision/tcp.h"
#include "tests/launcher/launched_job.h"
#include "tests/paths.h"

namespace weir::launcher {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const std::map<std::string, std::string> kStandIn = {
    {"HYDRA_LAUNCHER_EXEC", TreePath("tests/launcher/stand_ins/here_instead_of_ssh.sh")}};

TEST(WeirrunHosts, HostsMayHaveUnequalSlots) {
  LaunchedJob job({"-np", "4", "-H", "node-a:1,node-b:3", "--network-interface", "lo", "sh", "-c",
                   "echo rank $HOROVOD_RANK is $HOROVOD_LOCAL_RANK of $HOROVOD_LOCAL_SIZE"},
                  kStandIn);
  EXPECT_EQ(job.ExitCode(), 0);
  for (const char* line : {"rank 0 is 0 of 1", "rank 1 is 0 of 3", "rank 3 is 2 of 3"}) {
    EXPECT_THAT(job.output(), HasSubstr(line));
  }
}

TEST(WeirrunHosts, TellsRanksWhatHorovodsLauncherTells) {
  const std::string facts =
      "$HOROVOD_RANK/$HOROVOD_SIZE $HOROVOD_LOCAL_RANK/$HOROVOD_LOCAL_SIZE "
      "$HOROVOD_CROSS_RANK/$HOROVOD_CROSS_SIZE $HOROVOD_HOSTNAME $PYTHONUNBUFFERED";
  LaunchedJob job({"-np", "3", "-H", "node-a:1,node-b:2", "--network-interface", "lo", "sh", "-c",
                   "echo " + facts},
                  kStandIn);
  EXPECT_EQ(job.ExitCode(), 0);
  EXPECT_THAT(job.output(), AllOf(HasSubstr("[0] 0/3 0/1 0/2 node-a 1\n"),
                                  HasSubstr("[1] 1/3 0/2 1/2 node-b 1\n"),
                                  HasSubstr("[2] 2/3 1/2 0/1 node-b 1\n")));
}

TEST(WeirrunHosts, TellsRanksWhatTorchrunTells) {
  const std::string facts = "$RANK/$WORLD_SIZE $LOCAL_RANK/$LOCAL_WORLD_SIZE at $MASTER_ADDR";
  LaunchedJob job({"-np", "3", "-H", "node-a:1,node-b:2", "--network-interface", "lo", "sh", "-c",
                   "echo " + facts + "; test $MASTER_PORT -gt 0"},
                  kStandIn);
  EXPECT_EQ(job.ExitCode(), 0) << job.output();
  EXPECT_THAT(job.output(),
              AllOf(HasSubstr("[0] 0/3 0/1 at node-a\n"), HasSubstr("[1] 1/3 0/2 at node-a\n"),
                    HasSubstr("[2] 2/3 1/2 at node-a\n")));
}

TEST(WeirrunHosts, TellsOtherHostsAnAddressOfThisOne) {
  const std::vector<std::string> own = supervision::HostAddresses({});
  if (own.empty()) GTEST_SKIP() << "this host has no address but loopback's";
  LaunchedJob job({"-np", "2", "-H", "localhost:1,node-b:1", "--network-interface", "lo", "sh",
                   "-c", "echo at $MASTER_ADDR."},
                  kStandIn);
  EXPECT_EQ(job.ExitCode(), 0) << job.output();
  EXPECT_THAT(job.output(), HasSubstr("[1] at " + own.front() + "."));
}

TEST(WeirrunHosts, TellsRanksOfOneHostToMeetThere) {
  LaunchedJob job({"-np", "2", "sh", "-c", "echo at $MASTER_ADDR:$MASTER_PORT."});
  EXPECT_EQ(job.ExitCode(), 0) << job.output();
  std::smatch places;
  const std::regex both(R"(at (127\.0\.0\.1:\d+)\.\n(?:.*\n)*?.*at (127\.0\.0\.1:\d+)\.)");
  const std::string output = job.output();
  ASSERT_TRUE(std::regex_search(output, places, both)) << output;
  EXPECT_EQ(places[1], places[2]);
}

// On node-b there is one rank and a server.
TEST(WeirrunHosts, DoesNotCountServersAsRanks) {
  const std::string facts =
      "$HOROVOD_RANK/$HOROVOD_SIZE $HOROVOD_LOCAL_RANK/$HOROVOD_LOCAL_SIZE "
      "$HOROVOD_CROSS_RANK/$HOROVOD_CROSS_SIZE $HOROVOD_HOSTNAME";
  LaunchedJob job({"-np", "2", "--servers", "1", "-H", "node-a:1,node-b:2", "--network-interface",
                   "lo", "sh", "-c", "echo " + facts + "; exec " + BuildPath("bin/summing_rank")},
                  kStandIn);
  EXPECT_EQ(job.ExitCode(), 0) << job.output();
  EXPECT_THAT(
      job.output(),
      AllOf(HasSubstr("[0] 0/2 0/1 0/2 node-a\n"), HasSubstr("[1] 1/2 0/1 1/2 node-b\n"),
            HasSubstr("rank 1 of 2 is 0 on"), HasSubstr(", sum 3\n"), Not(HasSubstr("[2]"))));
}

// A server waits for ranks as long as it takes, and ends with them.
TEST(WeirrunHosts, ServersMakeNoDemandsOnPrograms) {
  LaunchedJob never({"-np", "2", "--servers", "1", "sh", "-c", "echo done"});
  EXPECT_EQ(never.ExitCode(), 0) << never.output();
  never.WaitForLastProcess();
  // Enough for two ranks on a busy machine to meet, and less than they sleep.
  LaunchedJob late({"-np", "2", "--servers", "1", "--start-timeout", "4", "sh", "-c",
                    "sleep 5; exec " + BuildPath("bin/summing_rank")});
  EXPECT_EQ(late.ExitCode(), 0) << late.output();
  LaunchedJob failing({"-np", "2", "--servers", "1", "sh", "-c", "exit 3"});
  EXPECT_EQ(failing.ExitCode(), 3) << failing.output();
}

// They have one name, this machine's: the engine goes by the launcher's local ranks.
TEST(WeirrunHosts, RanksOfAHierarchyShareAHost) {
  LaunchedJob alike(
      {"-np", "4", "-H", "node-a:2,node-b:2", "--network-interface", "lo",
       "--hierarchical-allreduce", "--log-level", "info", BuildPath("bin/summing_rank")},
      kStandIn);
  EXPECT_EQ(alike.ExitCode(), 0);
  EXPECT_THAT(alike.output(),
              AllOf(HasSubstr("hierarchical exchanges: ranks are 2 on each of 2 hosts"),
                    HasSubstr("rank 3 of 4 is 1 on"), HasSubstr(", sum 10\n")));
  LaunchedJob unlike({"-np", "3", "-H", "node-a:2,node-b:1", "--network-interface", "lo",
                      "--hierarchical-allgather", BuildPath("bin/summing_rank")},
                     kStandIn);
  EXPECT_EQ(unlike.ExitCode(), 0);
  EXPECT_THAT(unlike.output(), HasSubstr("ranks are 2 and 1 on 2 hosts, so the whole job exchanges "
                                         "flat; give all hosts as many"));
}

// Two connections for each rank. On six hosts, so that Hydra, which holds some files for each host
// and for each rank on one, can do with fewer.
TEST(WeirrunHosts, HoldsMoreConnectionsThanTheUsersLimitOnFiles) {
  LaunchedJob job({"-np", "30", "-H", "a:5,b:5,c:5,d:5,e:5,f:5", "--network-interface", "lo", "sh",
                   "-c", "echo may open $(ulimit -n)"},
                  kStandIn, {}, "ulimit -Sn 64");
  EXPECT_EQ(job.ExitCode(), 0);
  EXPECT_THAT(job.output(), HasSubstr("[29] may open 64\n"));
}

TEST(WeirrunHosts, ALossNamesTheHost) {
  LaunchedJob job({"-np", "2", "-H", "node-a:1,node-b:1", "--network-interface", "lo", "sh", "-c",
                   "exit $HOROVOD_RANK"},
                  kStandIn);
  EXPECT_EQ(job.ExitCode(), 1);
  EXPECT_THAT(job.output(), HasSubstr("weirrun: rank 1 on node-b: exit code 1; "));
}

}  // namespace
}  // namespace weir::launcher
