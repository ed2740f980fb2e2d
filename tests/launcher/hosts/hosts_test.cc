#include "launcher/hosts/hosts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "common/summary/rank_places.h"
#include "common/supervision/tcp.h"
#include "weir/error.h"

namespace weir::launcher {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

std::string WriteFile(const std::string& text) {
  const std::string path = testing::TempDir() + "hosts-" + std::to_string(getpid());
  std::ofstream(path) << text;
  return path;
}

TEST(Hosts, RanksFillHostsInOrder) {
  const std::vector<Host> hosts = ParseHosts("a:1,b:3,c");
  EXPECT_THAT(PlaceProcesses(hosts, 5), ElementsAre("a", "b", "b", "b", "c"));
  EXPECT_THAT(PlaceProcesses(hosts, 2), ElementsAre("a", "b"));
}

TEST(Hosts, ServersComeBehindTheRanks) {
  const std::vector<Host> hosts = ParseHosts("a:1,b:3,c");
  EXPECT_THAT(PlaceProcesses(hosts, 3, 2), ElementsAre("a", "b", "b", "b", "c"));
  EXPECT_THAT([&] { PlaceProcesses(hosts, 4, 2); },
              ThrowsMessage<InvalidArgument>(
                  HasSubstr("-np 4 and --servers 2 ask for more than the 5 slots")));
}

TEST(RankPlacesTest, ServersAreCountedByThemselves) {
  const RankPlaces places({"a", "a", "b", "b", "b"}, 2);
  EXPECT_EQ(places.Of({0, 1, 2, 3, 4}), "ranks 0-1 on a, rank 2 on b, summation servers 0-1 on b");
  EXPECT_EQ(places.Of(4), "summation server 1 on b");
}

TEST(Hosts, HostsWithoutRanksAreLeftOut) {
  EXPECT_EQ(HostsText(HostsOfRanks(ParseHosts("a:1,b:3,c"), 3)), "a:1,b:2");
}

TEST(Hosts, MoreRanksThanSlotsAreRefused) {
  EXPECT_THAT(
      [] { PlaceProcesses(ParseHosts("a:2,b"), 4); },
      ThrowsMessage<InvalidArgument>(HasSubstr("-np 4 asks for more ranks than the 3 slots")));
}

TEST(Hosts, EveryRankNeedsAPortForItsMetrics) {
  const std::vector<Host> hosts = ParseHosts("a:2,b:4");
  EXPECT_NO_THROW(CheckMetricsPorts(0, hosts));
  EXPECT_NO_THROW(CheckMetricsPorts(65532, hosts));
  EXPECT_THAT([&] { CheckMetricsPorts(65533, hosts); },
              ThrowsMessage<InvalidArgument>(HasSubstr(
                  "--metrics-port 65533 leaves ports for 3 of the 4 ranks on b: each serves on one "
                  "of its own, and the last port is 65535; give 65532 or less")));
}

TEST(Hosts, SlotsBeyondAllMemoryAreSlots) {
  EXPECT_THAT(PlaceProcesses(ParseHosts("a:2147483647,b:2147483647"), 2), ElementsAre("a", "a"));
}

TEST(Hosts, BadEntriesAreNamed) {
  for (const char* text : {"a:x", "a:0", "a:-1", "a:", ":2", "a,,b", "-oProxyCommand=x:2", "a b:1",
                           "a;rm:1", "a:1,a:2", ""}) {
    EXPECT_THROW(ParseHosts(text), InvalidArgument) << text;
  }
  EXPECT_THAT([] { ParseHosts("a:1,b:many"); },
              ThrowsMessage<InvalidArgument>(HasSubstr("'many' is not a number of slots")));
}

TEST(Hosts, LinesOfAScriptAreThoseOfAFile) {
  std::istringstream lines("a:2\n# comment\n\n  b  \r\n  c  slots=1 # one\n");
  EXPECT_EQ(HostsText(ParseHostLines(lines, "line ", 4)), "a:2,b:4,c:1");
  std::istringstream twice("a:2\nb\na:1\n");
  EXPECT_THAT([&] { ParseHostLines(twice, "line ", 1); },
              ThrowsMessage<InvalidArgument>("line 3: host 'a' appears twice; add up its slots"));
}

TEST(Hosts, WhatCannotBeShownIsNotShown) {
  std::istringstream lines("\x1b[2J\xff" + std::string(1000, 'x') + "\n");
  EXPECT_THAT([&] { ParseHostLines(lines, "line ", 1); },
              ThrowsMessage<InvalidArgument>("line 1: '?[2J?" + std::string(55, 'x') +
                                             "...' is not a host; give name:slots, as in a:2,b:2"));
}

TEST(Hosts, AFileMayWriteSlotsEitherWay) {
  const std::string path = WriteFile("# two hosts\nnode-a slots=2  # fast\n\nnode-b:3\nnode-c\n");
  EXPECT_THAT(PlaceProcesses(ReadHostFile(path), 6),
              ElementsAre("node-a", "node-a", "node-b", "node-b", "node-b", "node-c"));
  std::filesystem::remove(path);
}

TEST(Hosts, ABadLineOfAFileIsNamed) {
  const std::string path = WriteFile("a slots=2\nb cores=2\n");
  EXPECT_THAT([&] { ReadHostFile(path); },
              ThrowsMessage<InvalidArgument>(HasSubstr(path + ":2: 'cores=2'")));
  std::filesystem::remove(path);
  EXPECT_THAT([&] { ReadHostFile(path); }, ThrowsMessage<InvalidArgument>(HasSubstr(path)));
}

TEST(Hosts, AFolderOrABinaryFileIsRefused) {
  EXPECT_THAT([] { ReadHostFile("/tmp"); },
              ThrowsMessage<InvalidArgument>(HasSubstr("'/tmp' is a folder; give a file")));
  const std::string path = WriteFile(std::string("a slots=2\nb\0c:1\n", 16));
  EXPECT_THAT([&] { ReadHostFile(path); },
              ThrowsMessage<InvalidArgument>(HasSubstr(path + ":2: holds a NUL byte; give")));
  std::filesystem::remove(path);
}

TEST(Hosts, ThisMachineIsKnownByAllItsNames) {
  char own[256] = {};
  gethostname(own, sizeof own - 1);
  for (const std::string& name : {std::string("localhost"), std::string("127.0.0.1"),
                                  std::string("127.0.0.5"), std::string(own)}) {
    EXPECT_TRUE(supervision::IsLocalHost(name)) << name;
  }
  EXPECT_FALSE(supervision::IsLocalHost("192.0.2.1"));
  EXPECT_FALSE(AllLocal({{.name = "localhost"}, {.name = "192.0.2.1"}}));
}

}  // namespace
}  // namespace weir::launcher
