#include "launcher/job/parting.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

namespace weir::launcher {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

/// Processes 0, 1, ... on the hosts that a text names by a letter each.
class PartingTest : public testing::Test {
 protected:
  explicit PartingTest(std::string hosts = "aabbcc") : hosts_(std::move(hosts)) {}

  std::vector<std::string> Leavers(const std::string& hosts) {
    std::vector<int> processes;
    for (std::size_t p = 0; p < hosts.size(); ++p) processes.push_back(static_cast<int>(p));
    std::vector<std::string> names;
    for (const auto& leaver : parting_.Leavers(processes, [&](int process) {
           return std::string(1, hosts[static_cast<std::size_t>(process)]);
         })) {
      names.push_back(leaver.host + " without " + std::to_string(leaver.unreached));
    }
    return names;
  }
  std::vector<std::string> Leavers() { return Leavers(hosts_); }

  Parting parting_;
  const std::string hosts_;
};

TEST_F(PartingTest, NobodyLeavesWhereAllAreHeard) {
  for (int p = 0; p < 6; ++p) parting_.Report(p, {});
  EXPECT_THAT(Leavers(), IsEmpty());
}

TEST_F(PartingTest, OfTwoHostsTheOneWithTheLaterRanksLeaves) {
  parting_.Report(1, {2});
  parting_.Report(2, {1});
  EXPECT_THAT(Leavers(), ElementsAre("b without 1"));
}

TEST_F(PartingTest, OfTwoHostsTheOneWithFewerRanksLeaves) {
  parting_.Report(0, {2});
  parting_.Report(2, {0});
  EXPECT_THAT(Leavers("abb"), ElementsAre("a without 2"));
}

TEST_F(PartingTest, OneDirectionIsEnough) {
  parting_.Report(0, {});
  parting_.Report(4, {0});
  EXPECT_THAT(Leavers(), ElementsAre("c without 0"));
}

TEST_F(PartingTest, WhoHasNotReportedMayHaveHadNothingToSay) {
  parting_.Report(0, {2, 3});
  parting_.Report(4, {2, 3});
  EXPECT_THAT(Leavers(), IsEmpty());
}

TEST_F(PartingTest, AHostThatReachesNoOtherLeavesAlone) {
  parting_.Report(0, {2, 4});
  parting_.Report(2, {0});
  parting_.Report(4, {0});
  EXPECT_THAT(Leavers(), ElementsAre("a without 2"));
}

TEST_F(PartingTest, TwoCutsTakeTwoHosts) {
  parting_.Report(0, {1});
  parting_.Report(1, {0});
  parting_.Report(2, {3});
  parting_.Report(3, {2});
  EXPECT_THAT(Leavers("abcd"), ElementsAre("d without 2", "b without 0"));
}

TEST_F(PartingTest, RanksOfOneHostAreNotParted) {
  parting_.Report(0, {1});
  parting_.Report(1, {0});
  EXPECT_THAT(Leavers(), IsEmpty());
}

TEST_F(PartingTest, WhoMovesAgainCountsNoMore) {
  parting_.Report(0, {2});
  parting_.Report(2, {0});
  parting_.Forget(0);
  EXPECT_THAT(Leavers(), IsEmpty());
}

TEST_F(PartingTest, ALostConnectionIsAnAccidentOnce) {
  parting_.Accuse("a", "c", 4);
  EXPECT_THAT(Leavers(), IsEmpty());
  parting_.Clear();
  EXPECT_THAT(Leavers(), IsEmpty());
  parting_.Accuse("c", "a", 1);
  EXPECT_THAT(Leavers(), ElementsAre("c without 1"));
  parting_.Clear();
  parting_.Clear();
  parting_.Accuse("a", "c", 4);
  EXPECT_THAT(Leavers(), IsEmpty());
}

// Whatever the number of hosts, one cut takes one of its two ends and nobody else.
TEST_F(PartingTest, OneCutTakesOneOfItsEnds) {
  for (const std::string hosts : {"ab", "abc", "abcd", "abcde", "aabbcc", "abcdefgh"}) {
    const int size = static_cast<int>(hosts.size());
    for (char one = 'a'; one <= hosts.back(); ++one) {
      for (char other = 'a'; other < one; ++other) {
        parting_.Clear();
        for (int p = 0; p < size; ++p) {
          std::set<int> unheard;
          for (int q = 0; q < size; ++q) {
            const std::set<char> pair = {hosts[static_cast<std::size_t>(p)],
                                         hosts[static_cast<std::size_t>(q)]};
            if (pair == std::set<char>{one, other}) unheard.insert(q);
          }
          parting_.Report(p, unheard);
        }
        const auto leavers = Leavers(hosts);
        ASSERT_THAT(leavers, SizeIs(1)) << hosts;
        EXPECT_EQ(leavers[0][0], one) << hosts;
      }
    }
  }
}

}  // namespace
}  // namespace weir::launcher
