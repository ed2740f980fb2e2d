#include "metrics/bucket_names.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

TEST(BucketNames, ABucketWithoutANameIsCalledByItsNumber) {
  BucketNames names;
  EXPECT_EQ(names.Find(7)->name, "bucket 7");
}

TEST(BucketNames, APointerStaysTheSameUntilTheBucketIsNamedAnew) {
  BucketNames names;
  names.Set(1, {.name = "a", .compressor = "dgc"});
  const auto first = names.Find(1);
  names.Set(2, {.name = "b"});
  EXPECT_EQ(names.Find(1), first);
  names.Set(1, {.name = "c"});
  EXPECT_EQ(first->name, "a");
  EXPECT_EQ(names.Find(1)->name, "c");
}

}  // namespace
}  // namespace weir
