#include "ops/ucx/addresses.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weir/error.h"

namespace weir::ucx {
namespace {

using testing::ElementsAre;
using testing::ThrowsMessage;

TEST(UcxAddresses, AnyAddressComesBackAsItWasByWorkerAndRank) {
  const std::string any("\0a b ", 5);
  EXPECT_THAT(
      ReadAddressTexts({AddressText("1.20.1", {any, ""}), AddressText("1.20.1", {" x", "y"})}),
      ElementsAre(ElementsAre(any, " x"), ElementsAre("", "y")));
}

TEST(UcxAddresses, RanksThatDifferAreNamed) {
  EXPECT_THAT(
      [] {
        ReadAddressTexts({AddressText("1.20.1", {"a"}), AddressText("1.20.1", {"b"}),
                          AddressText("1.22.0", {"c"})});
      },
      ThrowsMessage<InvalidArgument>(
          "rank 0 has UCX 1.20.1 and rank 2 has 1.22.0, which do not understand each other: "
          "install one version on all hosts (WEIR_UCX_LIBRARY)"));
}

TEST(UcxAddresses, AWorkerThatNotAllHaveMeetsNobody) {
  EXPECT_THAT(ReadAddressTexts({AddressText("1.20.1", {"a", "b"}), AddressText("1.20.1", {"c"}),
                                AddressText("1.20.1", {"d", "e"})}),
              ElementsAre(ElementsAre("a", "c", "d")));
}

TEST(UcxAddresses, ATextThatIsCutIsCorrupt) {
  const std::string whole = AddressText("1.20.1", {"address"});
  EXPECT_THROW(ReadAddressTexts({whole.substr(0, whole.size() - 1)}), Corrupt);
  EXPECT_THROW(ReadAddressTexts({"1.20.1 \1"}), Corrupt);
  EXPECT_THROW(ReadAddressTexts({"1.20.1 "}), Corrupt);
}

}  // namespace
}  // namespace weir::ucx
