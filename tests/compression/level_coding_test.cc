#include "compression/codecs/level_coding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "compression/elias_delta.h"
#include "tests/compression/wire_page.h"
#include "weir/error.h"

namespace weir {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;
using Levels = std::vector<std::int8_t>;

std::vector<std::byte> Encoded(const Levels& levels, int s, LevelForm form = LevelForm::kShorter) {
  std::vector<std::byte> bytes(MaxLevelBytes(levels.size(), s));
  bytes.resize(EncodeLevels(levels, s, form, bytes.data()));
  return bytes;
}

Levels Decoded(std::span<const std::byte> bytes, int s, std::size_t n,
               LevelForm form = LevelForm::kShorter) {
  Levels levels(n, 99);
  DecodeLevels(bytes, s, form, levels);
  return levels;
}

TEST(EliasDelta, HasTheLengthsOfThePaper) {
  for (const auto& [number, bits] : std::vector<std::pair<std::uint64_t, std::size_t>>{
           {1, 1}, {2, 4}, {3, 4}, {4, 5}, {7, 5}, {8, 8}, {16, 9}, {1000, 16}}) {
    EXPECT_EQ(EliasDelta(number).length, bits) << number;
  }
}

TEST(EliasDelta, EveryNumberComesBack) {
  std::vector<std::uint64_t> numbers = {1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 255, 256, 65535, 65536};
  numbers.push_back(UINT32_MAX);
  std::size_t bits = 0;
  for (const std::uint64_t number : numbers) bits += EliasDelta(number).length;
  std::vector<std::byte> bytes(BytesForBits(bits));
  BitWriter writer(bytes.data());
  for (const std::uint64_t number : numbers) {
    const auto [code, length] = EliasDelta(number);
    writer.Append(code, length);
  }
  writer.Finish();
  BitReader reader(bytes);
  for (const std::uint64_t number : numbers) EXPECT_EQ(ReadEliasDelta(reader), number);
  EXPECT_TRUE(reader.AtEnd());
  EXPECT_EQ(ReadEliasDelta(reader), 0u) << "past the end there is no number";
}

TEST(LevelCoding, FullArraysArePackedAndBareOnesAreGaps) {
  test::ExpectAsOnThePage(Encoded({1, -1, 0, 3, -4, 7, -7, 2}, 7), "00 f1 30 7c 29");
  Levels bare(100, 0);
  bare[2] = -3;
  test::ExpectAsOnThePage(Encoded(bare, 7), "01 01 00 00 00 5a 01");
  EXPECT_EQ(Decoded(Encoded(bare, 7), 7, 100), bare);
  EXPECT_EQ(Encoded(bare, 7, LevelForm::kPacked).size(), 51u);
  EXPECT_EQ(Decoded(Encoded(bare, 7, LevelForm::kPacked), 7, 100, LevelForm::kPacked), bare);
  EXPECT_THAT([&] { Decoded(Encoded(bare, 7), 7, 100, LevelForm::kPacked); },
              ThrowsMessage<Corrupt>(HasSubstr("form is unknown")))
      << "who always packs sends no gaps";
}

TEST(LevelCoding, EverythingComesBack) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 2000; ++round) {
    const int s = 1 + static_cast<int>(random() % kMostLevels);
    const unsigned zeros = random() % 50;
    Levels levels(random() % 300);
    for (std::int8_t& level : levels) {
      const int magnitude = 1 + static_cast<int>(random() % static_cast<unsigned>(s));
      const int number = random() % 2 == 0 ? magnitude : -magnitude;
      level = static_cast<std::int8_t>(random() % (zeros + 1) == 0 ? number : 0);
    }
    const auto bytes = Encoded(levels, s);
    ASSERT_LE(bytes.size(), MaxLevelBytes(levels.size(), s));
    ASSERT_EQ(Decoded(bytes, s, levels.size()), levels) << "s " << s;
  }
}

TEST(LevelCoding, WhatIsOutOfRangeIsCorrupt) {
  const auto expect = [](std::vector<int> numbers, const char* text) {
    std::vector<std::byte> bytes;
    for (const int number : numbers) bytes.push_back(static_cast<std::byte>(number));
    EXPECT_THAT([&] { Decoded(bytes, 5, 4); }, ThrowsMessage<Corrupt>(HasSubstr(text)));
  };
  expect({}, "there are none");
  expect({2, 0, 0}, "their form is unknown");
  expect({0, 0}, "length is 1, expected 2");
  expect({0, 0x06, 0x00}, "outside its range");
  expect({0, 0x08, 0x00}, "outside its range");
  // Four levels take two bytes, and gaps never come where they are not shorter.
  expect({1, 1, 0, 0, 0, 0}, "the longer form was sent");
}

TEST(LevelCoding, GapsThatDoNotFitAreCorrupt) {
  Levels levels(100, 0);
  levels[99] = 1;
  const auto bytes = Encoded(levels, 7);
  EXPECT_THAT([&] { Decoded(bytes, 7, 99); }, ThrowsMessage<Corrupt>(HasSubstr("behind the last")));
  auto damaged = bytes;
  damaged[1] = std::byte{101};
  EXPECT_THAT([&] { Decoded(damaged, 7, 100); },
              ThrowsMessage<Corrupt>(HasSubstr("101 of 100 are not 0")));
  damaged = bytes;
  damaged[1] = std::byte{0};
  EXPECT_THAT([&] { Decoded(damaged, 7, 100); },
              ThrowsMessage<Corrupt>(HasSubstr("does not fit their number")));
}

}  // namespace
}  // namespace weir
