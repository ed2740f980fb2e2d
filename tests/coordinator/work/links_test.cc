#include <gtest/gtest.h>

#include "coordinator/work/hosts.h"

namespace weir {
namespace {

using Links = std::vector<Link>;
constexpr Link kIntra = Link::kIntra, kInter = Link::kInter, kUnknown = Link::kUnknown;

TEST(LinksOf, RanksOfOneHostAreNextToEachOther) {
  EXPECT_EQ(LinksOf("a:2,b:1", 0, 3, 2), (Links{kIntra, kIntra, kInter}));
  EXPECT_EQ(LinksOf("a:2,b:1", 2, 3, 1), (Links{kInter, kInter, kIntra}));
}

TEST(LinksOf, WhereAllProcessesAreOnThisHostNobodyHasToSaySo) {
  EXPECT_EQ(LinksOf("", 1, 2, 2), (Links{kIntra, kIntra}));
}

TEST(LinksOf, WhatNobodyHasToldIsUnknown) {
  EXPECT_EQ(LinksOf("", 0, 3, 2), (Links{kUnknown, kUnknown, kUnknown}));
  EXPECT_EQ(LinksOf("a:1,b:1", 0, 3, 1), (Links{kIntra, kInter, kUnknown})) << "rank 2 is a server";
  EXPECT_EQ(LinksOf("a:4,b:1", 0, 2, 1), (Links{kIntra, kIntra})) << "more than there are";
}

}  // namespace
}  // namespace weir
