#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "launcher/options/options.h"
#include "weir/error.h"

namespace weir::launcher {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Key;
using testing::Not;
using testing::Pair;
using testing::ThrowsMessage;
using testing::UnorderedElementsAre;

void ExpectNetworkRefused(const std::vector<std::string>& words, const std::string& text) {
  EXPECT_THAT([&] { ParseOptions(words); }, ThrowsMessage<InvalidArgument>(HasSubstr(text)));
}

TEST(NetworkFlags, InterfacesAreForTheNetworkLibrariesToo) {
  const Options options = ParseOptions({"-np", "1", "--network-interfaces", "eth0,eth1", "x"});
  EXPECT_THAT(options.environment, UnorderedElementsAre(Pair("NCCL_SOCKET_IFNAME", "eth0,eth1"),
                                                        Pair("UCX_NET_DEVICES", "eth0,eth1"),
                                                        Pair("FI_TCP_IFACE", "eth0")));
}

TEST(NetworkFlags, TcpKeepsEveryNetworkLibraryOnTcp) {
  EXPECT_THAT(ParseOptions({"-np", "1", "--tcp", "x"}).environment,
              UnorderedElementsAre(Pair("NCCL_IB_DISABLE", "1"), Pair("UCX_TLS", "tcp,sm,self"),
                                   Pair("FI_PROVIDER", "tcp"), Pair("UCX_RNDV_THRESH", "768k"),
                                   Pair("UCX_TCP_TX_SEG_SIZE", "256k"),
                                   Pair("UCX_TCP_RX_SEG_SIZE", "256k")));
}

TEST(NetworkFlags, TcpLeavesWhatIsSetInTheEnvironmentAsItIs) {
  setenv("UCX_RNDV_THRESH", "1m", 1);
  const auto environment = ParseOptions({"-np", "1", "--tcp", "x"}).environment;
  unsetenv("UCX_RNDV_THRESH");
  EXPECT_THAT(environment, Not(Contains(Key("UCX_RNDV_THRESH"))));
  EXPECT_THAT(environment, Contains(Pair("UCX_TCP_TX_SEG_SIZE", "256k")));
}

TEST(NetworkFlags, HorovodsControllersAreNetworks) {
  for (const auto& [flag, network] : {std::pair("--mpi", "mpi"), std::pair("--gloo", "ucx")}) {
    const Options options = ParseOptions({"-np", "1", flag, "x"});
    EXPECT_THAT(options.environment, Contains(Pair("WEIR_TRANSPORT", network)));
    EXPECT_THAT(options.origins, Contains(Pair("WEIR_TRANSPORT", flag)));
    EXPECT_THAT(options.notices, IsEmpty());
  }
  ExpectNetworkRefused(
      {"-np", "1", "--gloo", "--transport", "mpi", "x"},
      "'--transport' and '--gloo' say what to do about the same; give one of them");
  ExpectNetworkRefused({"-np", "1", "--mpi", "--gloo", "x"}, "'--mpi' and '--gloo' say what to do");
}

}  // namespace
}  // namespace weir::launcher
