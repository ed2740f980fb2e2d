#include "launcher/hosts/discovery.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weir/error.h"

namespace weir::launcher {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(Discovery, ReadsAHostALine) {
  const std::vector<Host> hosts =
      ParseDiscoveredHosts({"a:2\n", "\n", "  b \r\n", "c:1\n", "a:3\n"}, 4);
  EXPECT_EQ(HostsText(hosts), "a:3,b:4,c:1");
}

TEST(Discovery, RefusesWhatIsNoHost) {
  for (const auto& [line, text] :
       {std::pair("a:0\n", "a:0"), std::pair("a:2,b:2\n", "is not a host and its slots"),
        std::pair("a b\n", "a b"), std::pair("a:x\n", "a:x")}) {
    EXPECT_THAT([&] { ParseDiscoveredHosts({line}, 1); },
                ThrowsMessage<InvalidArgument>(HasSubstr(text)));
  }
}

}  // namespace
}  // namespace weir::launcher
