#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "launcher/options/options.h"
#include "weir/error.h"

namespace weir::launcher {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(ElasticFlags, AJobIsElasticOnlyIfAsked) {
  EXPECT_FALSE(ParseOptions({"-np", "2", "x"}).elastic);
  const auto elastic = ParseOptions({"-np", "3", "--min-np", "2", "x"}).elastic;
  ASSERT_TRUE(elastic);
  EXPECT_EQ(elastic->min_ranks, 2);
  EXPECT_EQ(elastic->reset_limit, -1);
  EXPECT_EQ(elastic->timeout, milliseconds(600000));
  EXPECT_TRUE(ParseOptions({"-np", "3", "--min-num-proc", "3", "x"}).elastic);
}

TEST(ElasticFlags, LimitsAreRead) {
  const auto elastic = ParseOptions({"-np", "2", "--min-np", "1", "--elastic-timeout", "1.5",
                                     "--reset-limit", "0", "x"})
                           .elastic;
  ASSERT_TRUE(elastic);
  EXPECT_EQ(elastic->reset_limit, 0);
  EXPECT_EQ(elastic->timeout, milliseconds(1500));
}

TEST(ElasticFlags, WhatCannotBeIsRefused) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> refused = {
      {{"--min-np", "3"}, "--min-np is '3'; give a number of ranks, 1 to that of -np"},
      {{"--min-np", "0"}, "--min-np is '0'"},
      {{"--min-np", "1", "--elastic-timeout", "nan"}, "--elastic-timeout is 'nan'; give seconds"},
      {{"--min-np", "1", "--reset-limit", "-1"}, "--reset-limit is '-1'"},
      {{"--reset-limit", "1"}, "--reset-limit is for an elastic job; give --min-np, too"},
      {{"--elastic-timeout", "1"}, "--elastic-timeout is for an elastic job"},
      {{"--min-np", "1", "--servers", "1", "-H", "a:4"}, "no summation servers yet"}};
  for (const auto& [words, text] : refused) {
    std::vector<std::string> all = {"-np", "2"};
    all.insert(all.end(), words.begin(), words.end());
    all.emplace_back("x");
    EXPECT_THAT([&] { ParseOptions(all); }, ThrowsMessage<InvalidArgument>(HasSubstr(text)));
  }
}

}  // namespace
}  // namespace weir::launcher
