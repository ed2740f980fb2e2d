#include "launcher/start/remote_shell.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "common/supervision/supervision.h"
#include "launcher/job/start_trouble.h"

namespace weir::launcher {
namespace {

TEST(RemoteShell, FindsTheHostBehindTheOptions) {
  EXPECT_EQ(HostIndex({"-x", "node-a", "proxy"}), 1u);
  EXPECT_EQ(HostIndex({"-x", "-o", "Port=2", "-p", "22", "-i", "key", "-4", "node-a", "-c"}), 8u);
  EXPECT_EQ(HostIndex({"-p22", "-oBatchMode=yes", "node-a"}), 2u);
  EXPECT_EQ(HostIndex({"-x", "-p"}), 2u);
}

TEST(RemoteShell, SshGivesUpBeforeTheStartTimesOut) {
  EXPECT_EQ(RemoteShellValue(30, "/usr/bin/ssh"), "29 /usr/bin/ssh");
  EXPECT_EQ(RemoteShellValue(0.2, "s"), "1 s");
  EXPECT_EQ(RemoteShellValue(1e9, "s"), "86399 s");
}

/// Result of RunRemoteShell in a process whose parent ended before; -1: it was killed.
int CodeOfAnOrphan() {
  int orphaned[2];
  int code[2];
  EXPECT_EQ(pipe(orphaned), 0);
  EXPECT_EQ(pipe(code), 0);
  const pid_t parent = fork();
  if (parent == 0) {
    if (fork() != 0) _exit(0);
    close(orphaned[1]);
    char byte = 0;
    while (read(orphaned[0], &byte, 1) > 0) {
    }
    const int result = RunRemoteShell({"-x", "node-a"});
    _exit(write(code[1], &result, sizeof result) == sizeof result ? 0 : 1);
  }
  for (const int fd : {orphaned[0], code[1]}) close(fd);
  waitpid(parent, nullptr, 0);
  // Not before: a process is a parent until it has ended whole, which is after its files are
  // closed.
  close(orphaned[1]);
  int result = -1;
  EXPECT_EQ(read(code[0], &result, sizeof result), static_cast<ssize_t>(sizeof result));
  close(code[0]);
  return result;
}

TEST(RemoteShell, RunsNothingForAnMpiexecThatHasEnded) {
  setenv(kRemoteShellVariable, "1 true", 1);
  setenv(supervision::kTokenVariable, "of this test", 1);
  EXPECT_EQ(CodeOfAnOrphan(), 1);
  unsetenv(supervision::kTokenVariable);
  EXPECT_EQ(CodeOfAnOrphan(), 0);  // No job: nobody to belong to.
  unsetenv(kRemoteShellVariable);
}

TEST(StartTrouble, IsReadBackAsItWasWritten) {
  const auto host = ParseTrouble(TroubleLine({.host = "n1", .why = "a: b"}) + "\r\n");
  ASSERT_TRUE(host);
  EXPECT_EQ(host->host, "n1");
  EXPECT_EQ(host->why, "a: b");
  const auto rank = ParseTrouble(TroubleLine({.rank = 12, .why = "c"}));
  ASSERT_TRUE(rank);
  EXPECT_EQ(rank->rank, 12);
  EXPECT_EQ(rank->host, "");
  for (const char* line :
       {"", "weirrun: no", "weirrun: no start of rank x: y", "weirrun: no start on host a"}) {
    EXPECT_FALSE(ParseTrouble(line)) << line;
  }
}

}  // namespace
}  // namespace weir::launcher
