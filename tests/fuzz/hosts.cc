// -H, and host files.
#include "launcher/hosts/hosts.h"

#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/text_file.h"
#include "weir/error.h"

namespace weir::fuzz {
namespace {

using launcher::Host;
using launcher::HostsText;
using launcher::PlaceProcesses;

constexpr std::size_t kMostRanks = 100;

void CheckHosts(const std::vector<Host>& hosts, int ranks) {
  WEIR_CHECK(!hosts.empty());
  const std::string text = HostsText(hosts);
  WEIR_CHECK(HostsText(launcher::ParseHosts(text)) == text);

  std::vector<std::string> places;
  const bool enough = Accepts<InvalidArgument>([&] { places = PlaceProcesses(hosts, ranks); });
  std::vector<Host> used;
  WEIR_CHECK(Accepts<InvalidArgument>([&] { used = launcher::HostsOfRanks(hosts, ranks); }) ==
             enough);
  if (!enough) return;
  WEIR_CHECK(places.size() == static_cast<std::size_t>(ranks));
  int slots = 0;
  for (const Host& host : used) slots += host.slots;
  WEIR_CHECK(slots == ranks && PlaceProcesses(used, ranks) == places);
}

}  // namespace

void Run(std::span<const std::byte> bytes) {
  Input input(bytes);
  const int ranks = 1 + static_cast<int>(input.Number(kMostRanks - 1));
  const std::string text = input.Text();
  std::vector<Host> hosts;
  if (Accepts<InvalidArgument>([&] { hosts = launcher::ParseHosts(text); }))
    CheckHosts(hosts, ranks);
  const TextFile file(text);
  if (Accepts<InvalidArgument>([&] { hosts = launcher::ReadHostFile(file.path()); })) {
    CheckHosts(hosts, ranks);
  }
}

std::vector<Bytes> Seeds() {
  return {Seed({5}, "a:2,b:4"), Seed({2}, "localhost,node-b.lan:16"),
          Seed({5}, "# two hosts\nnode-a slots=2  # fast\n\nnode-b:3\nnode-c\n")};
}

}  // namespace weir::fuzz
