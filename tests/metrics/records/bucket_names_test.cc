#include "metrics/records/bucket_names.h"

#include <gtest/gtest.h>

#include <string>

namespace weir {
namespace {

TEST(BucketNames, ANumberKeepsItsMeaning) {
  BucketNames names;
  const std::uint32_t first = names.Add({.name = "a", .compressor = "dgc"});
  const BucketInfo& info = names.Find(first);
  for (int i = 0; i < 1000; ++i) names.Add({.name = "b"});
  EXPECT_EQ(&names.Find(first), &info);
  EXPECT_EQ(info.name, "a");
  EXPECT_EQ(names.Add({.name = "b"}), first + 1001);
}

TEST(BucketNames, WhatComesAndGoesUnderOneNameHasOneNumber) {
  BucketNames names;
  const std::uint32_t planned = names.Add({.name = "a"});
  const std::uint32_t a = names.AddShared({.name = "a", .compressor = "dgc"});
  EXPECT_NE(a, planned);
  EXPECT_NE(names.AddShared({.name = "b"}), a);
  EXPECT_EQ(names.AddShared({.name = "a"}), a);
  EXPECT_EQ(names.Find(a).compressor, "dgc");
}

TEST(BucketNames, NamesWithoutEndShareANumber) {
  BucketNames names;
  const std::uint32_t first = names.AddShared({.name = "0"});
  for (std::size_t i = 1; i < BucketNames::kMostShared; ++i) {
    EXPECT_EQ(names.AddShared({.name = std::to_string(i)}), first + i);
  }
  const std::uint32_t others = names.AddShared({.name = "one more"});
  EXPECT_EQ(names.Find(others).name, BucketNames::kOthers);
  EXPECT_EQ(names.AddShared({.name = "and another"}), others);
  EXPECT_EQ(names.AddShared({.name = "0"}), first);
  EXPECT_EQ(names.Add({.name = "planned"}), others + 1);
}

}  // namespace
}  // namespace weir
