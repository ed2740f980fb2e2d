// Pages of the endpoint beside the metrics.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "metrics/pages/home_page.h"
#include "metrics/pages/host_list.h"
#include "metrics/pages/targets_page.h"

namespace weir {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

Settings OnPort(int port, const std::string& address = "0.0.0.0") {
  Settings settings;
  settings.metrics_port = port;
  settings.metrics_address = address;
  return settings;
}

TEST(HostList, IsReadInTheOrderOfRanksAndWhatIsNoHostIsLeftOut) {
  const auto hosts = ParseHostList("a:2,fe80::1:3,b,c:x");
  ASSERT_EQ(hosts.size(), 2u);
  EXPECT_EQ(hosts[0].host, "a");
  EXPECT_EQ(hosts[0].ranks, 2);
  EXPECT_EQ(hosts[1].host, "fe80::1");
  EXPECT_EQ(hosts[1].ranks, 3);
  EXPECT_TRUE(ParseHostList("").empty());
}

TEST(TargetsPage, LocalRanksOfEachHostCountUpFromThePort) {
  const RunInfo info{.rank = 0, .size = 3, .host = "a", .hosts = "a:2,b:1"};
  EXPECT_EQ(json::parse(TargetsPage(Targets(OnPort(9400), info))), json::parse(R"([
    {"targets": ["a:9400"], "labels": {"rank": "0", "host": "a"}},
    {"targets": ["a:9401"], "labels": {"rank": "1", "host": "a"}},
    {"targets": ["b:9400"], "labels": {"rank": "2", "host": "b"}}])"));
}

TEST(TargetsPage, OnOneHostItIsTheAddressThatIsListenedTo) {
  const RunInfo info{.rank = 0, .size = 2, .host = "a", .hosts = "localhost:2"};
  EXPECT_EQ(Targets(OnPort(9400, "127.0.0.1"), info)[1].address, "127.0.0.1:9401");
  EXPECT_EQ(Targets(OnPort(9400, "0.0.0.0"), info)[1].address, "localhost:9401");
}

TEST(TargetsPage, WithoutALauncherOnlyALoneRankIsKnown) {
  EXPECT_TRUE(Targets(OnPort(9400), {.rank = 0, .size = 2, .host = "a"}).empty());
  const auto alone = Targets(OnPort(9400), {.rank = 0, .size = 1, .host = "a"});
  ASSERT_EQ(alone.size(), 1u);
  EXPECT_EQ(alone[0].address, "a:9400");
}

TEST(HomePage, LinksEveryPageAndEveryRank) {
  const RunInfo info{.rank = 1, .size = 2, .host = "a", .hosts = "a:1,b:1"};
  const std::string page = HomePage(info, Targets(OnPort(9400), info));
  for (const char* link : {"\"/metrics\"", "\"/run\"", "\"/targets\"", "\"/stalls\"",
                           "\"/healthz\"", "\"http://a:9400/\"", "\"http://b:9400/\""}) {
    EXPECT_THAT(page, HasSubstr(std::string("href=") + link));
  }
  EXPECT_THAT(page, HasSubstr("<h1>Rank 1 of 2 on a</h1>"));
}

TEST(HomePage, NamesOfHostsAreText) {
  const RunInfo info{.rank = 0, .size = 2, .host = "<script>\"&", .hosts = "<script>:2"};
  const std::string page = HomePage(info, Targets(OnPort(1), info));
  EXPECT_THAT(page, Not(HasSubstr("<script>")));
  EXPECT_THAT(page, HasSubstr("&lt;script&gt;&quot;&amp;"));
}

}  // namespace
}  // namespace weir
