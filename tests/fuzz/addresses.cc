// Addresses of the ranks' networks, which weirrun sends to each.
#include "common/supervision/addresses.h"

#include "tests/fuzz/fuzz_target.h"
#include "weir/error.h"

namespace weir::fuzz {

void Run(std::span<const std::byte> bytes) {
  Input input(bytes);
  const std::size_t ranks = input.Number(1000);
  const std::string text = input.Text();
  std::vector<std::string> addresses = {"of rank 0"};
  if (!Accepts<Corrupt>([&] { supervision::AppendAddresses(text, ranks, addresses); })) {
    WEIR_CHECK(addresses.size() == 1);
    return;
  }
  WEIR_CHECK(addresses.size() <= ranks || addresses.size() == 1);
  addresses.erase(addresses.begin());
  std::string again;
  for (const std::string& part : supervision::AddressTexts(addresses)) again += part;
  WEIR_CHECK(again == text);
}

std::vector<Bytes> Seeds() {
  const auto text = supervision::AddressTexts({"a", std::string(300, '\0'), ""}).front();
  return {Seed({4}, text), Seed({3}, text), Seed({1}, std::string())};
}

}  // namespace weir::fuzz
