#include "ops/ucx/address_version.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weir/error.h"

namespace weir::ucx {
namespace {

using testing::ThrowsMessage;

TEST(AddressVersion, AnyAddressComesBackAsItWas) {
  const std::vector<std::string> all = {std::string("\0a b ", 5), "", " x"};
  std::vector<std::string> addresses;
  for (const std::string& address : all) addresses.push_back(WithVersion("1.20.1", address));
  TakeVersions(addresses);
  EXPECT_EQ(addresses, all);
}

TEST(AddressVersion, RanksThatDifferAreNamed) {
  std::vector<std::string> addresses = {WithVersion("1.20.1", "a"), WithVersion("1.20.1", "b"),
                                        WithVersion("1.22.0", "c")};
  EXPECT_THAT(
      [&] { TakeVersions(addresses); },
      ThrowsMessage<InvalidArgument>(
          "rank 0 has UCX 1.20.1 and rank 2 has 1.22.0, which do not understand each other: "
          "install one version on all hosts (WEIR_UCX_LIBRARY)"));
}

}  // namespace
}  // namespace weir::ucx
