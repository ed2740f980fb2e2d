#include "launcher/hosts/allocation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "launcher/hosts/slurm_text.h"
#include "weir/error.h"

namespace weir::launcher {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

std::optional<Allocation> Find(const std::map<std::string, std::string>& environment) {
  return FindAllocation([&](const std::string& name) -> std::optional<std::string> {
    const auto found = environment.find(name);
    if (found == environment.end()) return std::nullopt;
    return found->second;
  });
}

std::string Text(const std::vector<Host>& hosts) { return HostsText(hosts); }

TEST(SlurmText, RangesOfNodesKeepTheirWidth) {
  EXPECT_THAT(SlurmNodes("X", "n[01-03,7],gpu-5"), ElementsAre("n01", "n02", "n03", "n7", "gpu-5"));
  EXPECT_THAT(SlurmNodes("X", "n[9-11].lan"), ElementsAre("n9.lan", "n10.lan", "n11.lan"));
  EXPECT_THAT(SlurmNodes("X", "n[098-101]"), ElementsAre("n098", "n099", "n100", "n101"));
  EXPECT_THAT(SlurmNodes("X", "r[1-2]n[3,4]"), ElementsAre("r1n3", "r1n4", "r2n3", "r2n4"));
  EXPECT_THAT(SlurmNodes("X", "alone"), ElementsAre("alone"));
}

TEST(SlurmText, CountsMayBeRepeated) {
  EXPECT_THAT(SlurmCounts("X", "2(x3),1"), ElementsAre(2, 2, 2, 1));
  EXPECT_THAT(SlurmCounts("X", "16"), ElementsAre(16));
}

TEST(SlurmText, ListsBeyondAllReasonAreRefused) {
  std::string brackets = "n";
  for (int i = 0; i < 40'000; ++i) brackets += "[1]";
  for (const std::string& text :
       {std::string("n[0-9999],m[0-9999]"), std::string("n[0-9999,0-9999]"),
        "n[" + std::string(100'000, '0') + "1-9999]", brackets}) {
    EXPECT_THROW(SlurmNodes("X", text), InvalidArgument) << text.substr(0, 20);
  }
}

TEST(SlurmText, WhatIsNoListIsRefused) {
  for (const char* text : {"", "n[1-", "n1]", "n[]", "n[a-b]", "n[3-1]", "n[1-2-3]", "a,,b",
                           "n[-1]", "n[0-99999999]", "n[0-9999]m[0-9999]", "n[99999999999]"}) {
    EXPECT_THROW(SlurmNodes("X", text), InvalidArgument) << text;
  }
  for (const char* text :
       {"", "0", "x", "2(x", "2(x)", "2(x0)", "(x2)", "2(x3)1", "1(x99999999)"}) {
    EXPECT_THROW(SlurmCounts("X", text), InvalidArgument) << text;
  }
  EXPECT_THAT([] { SlurmCounts("SLURM_NTASKS", "many"); },
              ThrowsMessage<InvalidArgument>(HasSubstr("SLURM_NTASKS holds 'many'")));
}

TEST(Allocation, SlurmGivesHostsSlotsAndRanks) {
  const auto found = Find({{"SLURM_JOB_NODELIST", "n[01-03],gpu-5"},
                           {"SLURM_TASKS_PER_NODE", "2(x3),1"},
                           {"SLURM_NTASKS", "6"}});
  ASSERT_TRUE(found);
  EXPECT_EQ(Text(found->hosts), "n01:2,n02:2,n03:2,gpu-5:1");
  EXPECT_EQ(found->ranks, 6);
  EXPECT_EQ(found->origin, "SLURM_JOB_NODELIST");
}

TEST(Allocation, WithoutATaskCountEverySlotIsARank) {
  EXPECT_EQ(Find({{"SLURM_JOB_NODELIST", "a,b"}, {"SLURM_TASKS_PER_NODE", "3(x2)"}})->ranks, 6);
  EXPECT_EQ(Find({{"SLURM_JOB_NODELIST", "a,b"}})->ranks, 2);
}

TEST(Allocation, MoreSlotsThanAnIntHoldsAreCountedAsItsLargest) {
  const auto found =
      Find({{"SLURM_JOB_NODELIST", "a,b"}, {"SLURM_TASKS_PER_NODE", "2147483647(x2)"}});
  EXPECT_EQ(found->ranks, 2147483647);
}

TEST(Allocation, SlurmsVariablesHaveToAgree) {
  EXPECT_THAT(
      [] {
        Find({{"SLURM_JOB_NODELIST", "a,b"}, {"SLURM_TASKS_PER_NODE", "2(x3)"}});
      },
      ThrowsMessage<InvalidArgument>(HasSubstr("is for 3 hosts, and SLURM_JOB_NODELIST "
                                               "names 2")));
  EXPECT_THROW(Find({{"SLURM_JOB_NODELIST", "a,-oProxyCommand=x"}}), InvalidArgument);
}

TEST(Allocation, PbsNamesAHostOnceForEachSlot) {
  const std::string path = testing::TempDir() + "nodes-" + std::to_string(getpid());
  std::ofstream(path) << "n1\nn1\nn2\nn1\n";
  const auto found = Find({{"PBS_NODEFILE", path}});
  ASSERT_TRUE(found);
  EXPECT_EQ(Text(found->hosts), "n1:3,n2:1");
  EXPECT_EQ(found->ranks, 4);
  std::filesystem::remove(path);
  EXPECT_THAT(
      [&] {
        Find({{"PBS_NODEFILE", path}});
      },
      ThrowsMessage<InvalidArgument>(HasSubstr("PBS_NODEFILE")));
}

TEST(Allocation, NoneIsNoError) { EXPECT_FALSE(Find({{"SLURM_NTASKS", "3"}})); }

}  // namespace
}  // namespace weir::launcher
