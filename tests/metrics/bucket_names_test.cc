#include "metrics/bucket_names.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace weir
