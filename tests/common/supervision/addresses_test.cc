#include "common/supervision/addresses.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/supervision/supervision.h"
#include "weir/error.h"

namespace weir::supervision {
namespace {

using Addresses = std::vector<std::string>;

Addresses Read(const std::vector<std::string>& texts, std::size_t ranks) {
  Addresses addresses;
  for (const std::string& text : texts) AppendAddresses(text, ranks, addresses);
  return addresses;
}

TEST(Addresses, OfManyRanksTravelInSeveralTexts) {
  Addresses addresses;
  for (int rank = 0; rank < 500; ++rank) {
    addresses.push_back(std::string(static_cast<std::size_t>(1 + rank * 7 % 400), '\0') +
                        std::to_string(rank));
  }
  const auto texts = AddressTexts(addresses);
  EXPECT_GT(texts.size(), 1u);
  for (const std::string& text : texts) EXPECT_LE(text.size(), kMaxText);
  EXPECT_EQ(Read(texts, 500), addresses);
}

TEST(Addresses, OfTheLongestKindFit) {
  const Addresses addresses(40, std::string(kMaxAddress, 'x'));
  EXPECT_EQ(Read(AddressTexts(addresses), 40), addresses);
}

TEST(Addresses, WhatIsNoneIsRefusedWhole) {
  const std::string good = AddressTexts({"a", "b"}).front();
  Addresses addresses = {"first"};
  const auto expect_refused = [&](const std::string& text, std::size_t ranks, const char* why) {
    EXPECT_THAT([&] { AppendAddresses(text, ranks, addresses); },
                testing::ThrowsMessage<Corrupt>(testing::HasSubstr(why)));
    EXPECT_EQ(addresses, Addresses{"first"});
  };
  expect_refused(good, 2, "more than ranks");
  expect_refused(good.substr(0, good.size() - 1), 9, "ends too early");
  expect_refused(good + "x", 9, "ends too early");
  std::string too_long(4 + kMaxAddress + 1, '\0');
  too_long[0] = '\x01';
  too_long[1] = '\x20';  // 0x2001 bytes.
  expect_refused(too_long, 9, "one is too long");
  AppendAddresses(good, 3, addresses);
  EXPECT_EQ(addresses, (Addresses{"first", "a", "b"}));
}

}  // namespace
}  // namespace weir::supervision
