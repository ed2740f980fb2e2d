#include "launcher/job/parting.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace weir::launcher {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class PartingTest : public testing::Test {
 protected:
  /// Process 0 to 5 on hosts of two each: "a a b b c c", unless `hosts` says other.
  std::vector<std::string> Leavers(const std::string& hosts = "aabbcc") {
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
  void Wait(int one, const std::vector<int>& others) {
    for (const int other : others) parting_.Note(one, other, in_exchange_);
  }
  Parting parting_;
  bool in_exchange_ = true;
};

TEST_F(PartingTest, NobodyLeavesWhereNobodyWaits) { EXPECT_THAT(Leavers(), IsEmpty()); }

TEST_F(PartingTest, OfTwoHostsTheOneWithTheLaterRanksLeaves) {
  Wait(1, {2});
  Wait(2, {1});
  EXPECT_THAT(Leavers(), ElementsAre("b without 1"));
}

TEST_F(PartingTest, OfTwoHostsTheOneWithFewerRanksLeaves) {
  Wait(0, {2});
  Wait(2, {0});
  EXPECT_THAT(Leavers("abb"), ElementsAre("a without 2"));
}

TEST_F(PartingTest, WhoWaitsForOneThatWaitsIsNotParted) {
  Wait(0, {2});
  Wait(2, {0});
  Wait(4, {0, 2});
  Wait(5, {4});
  EXPECT_THAT(Leavers(), ElementsAre("b without 0"));
}

TEST_F(PartingTest, AHostThatReachesNoOtherLeavesAlone) {
  Wait(0, {2, 4});
  Wait(2, {0});
  Wait(4, {0});
  EXPECT_THAT(Leavers(), ElementsAre("a without 2"));
}

TEST_F(PartingTest, WhereOneSideHasAllItNeedsTheOtherTells) {
  Wait(2, {0});
  Wait(4, {2});  // Of the ring: what it waits for comes by way of 2.
  EXPECT_THAT(Leavers(), ElementsAre("b without 0"));
}

TEST_F(PartingTest, WhoHasNotHeardOfTheExchangeTellsToo) {
  Wait(0, {1, 2});
  Wait(1, {0, 2});
  in_exchange_ = false;
  Wait(2, {0});
  EXPECT_THAT(Leavers("abc"), ElementsAre("a without 1"));
}

TEST_F(PartingTest, WhereAllAgreeOnWhatToExchangeNobodyLeaves) {
  in_exchange_ = false;
  Wait(0, {2});
  Wait(2, {0});
  EXPECT_THAT(Leavers(), IsEmpty());
}

TEST_F(PartingTest, TwoCutsTakeTwoHosts) {
  Wait(0, {1});
  Wait(1, {0});
  Wait(2, {3});
  Wait(3, {2});
  EXPECT_THAT(Leavers("abcd"), ElementsAre("d without 2", "b without 0"));
}

TEST_F(PartingTest, RanksOfOneHostAreNotParted) {
  Wait(0, {1});
  Wait(1, {0});
  EXPECT_THAT(Leavers(), IsEmpty());
}

TEST_F(PartingTest, WhoWaitsNoMoreCountsNoMore) {
  Wait(0, {2});
  Wait(2, {0});
  parting_.Forget(0);
  parting_.Forget(2);
  EXPECT_THAT(Leavers(), IsEmpty());
}

}  // namespace
}  // namespace weir::launcher
