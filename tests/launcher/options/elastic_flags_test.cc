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

TEST(ElasticFlags, HostsMayComeByAScript) {
  const Options options =
      ParseOptions({"-np", "2", "--max-np", "8", "--host-discovery-script", "./hosts.sh",
                    "--slots-per-host", "4", "--blacklist-cooldown-range", "10", "20.5", "x", "y"});
  ASSERT_TRUE(options.elastic);
  EXPECT_EQ(options.host_script, "./hosts.sh");
  EXPECT_EQ(options.slots_per_host, 4);
  EXPECT_EQ(options.elastic->min_ranks, 2);
  EXPECT_EQ(options.elastic->max_ranks, 8);
  EXPECT_TRUE(options.elastic->finds_hosts);
  ASSERT_TRUE(options.elastic->cooldown);
  EXPECT_EQ(options.elastic->cooldown->least, milliseconds(10000));
  EXPECT_EQ(options.elastic->cooldown->most, milliseconds(20500));
  EXPECT_EQ(options.command, (std::vector<std::string>{"x", "y"}));
}

TEST(ElasticFlags, WhatCannotBeIsRefused) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> refused = {
      {{"--min-np", "3"}, "--min-np is '3'; give a number of ranks, 1 to that of -np"},
      {{"--min-np", "0"}, "--min-np is '0'"},
      {{"--min-np", "1", "--elastic-timeout", "nan"}, "--elastic-timeout is 'nan'; give seconds"},
      {{"--min-np", "1", "--reset-limit", "-1"}, "--reset-limit is '-1'"},
      {{"--reset-limit", "1"}, "--reset-limit is for an elastic job; give --min-np, too"},
      {{"--elastic-timeout", "1"}, "--elastic-timeout is for an elastic job"},
      {{"--max-np", "4"}, "--max-np is for an elastic job"},
      {{"--min-np", "1", "--max-np", "1"}, "--max-np is '1'; give a number of ranks, that of -np"},
      {{"--min-np", "1", "--slots-per-host", "2"}, "hosts of --host-discovery-script"},
      {{"--host-discovery-script", "s", "-H", "a:4"}, "names the hosts, and so does -H"},
      {{"--min-np", "1", "--blacklist-cooldown-range", "3", "2"}, "give the lesser number"},
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
