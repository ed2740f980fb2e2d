#include "launcher/remote_shell.h"

#include <gtest/gtest.h>

#include "launcher/start_trouble.h"

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
