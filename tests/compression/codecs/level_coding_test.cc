#include "compression/codecs/level_coding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <vector>

#include "common/byte_stream.h"
#include "compression/codecs/level_tile.h"
#include "compression/wire/elias_delta.h"
#include "tests/compression/wire/wire_page.h"
#include "weir/error.h"

namespace weir {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;
using Levels = std::vector<std::int8_t>;

std::vector<std::byte> Encoded(const Levels& levels, int s, LevelForm form = LevelForm::kShorter) {
  std::vector<std::byte> bytes(MaxLevelBytes(levels.size(), s, form));
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

TEST(LevelCoding, TilesArePackedOrGapsWhicheverIsShorter) {
  const Levels full = {1, -1, 0, 3, -4, 7, -7, 2};
  test::ExpectAsOnThePage(Encoded(full, 7, LevelForm::kPacked), "00 f1 30 7c 29");
  test::ExpectAsOnThePage(Encoded(full, 7), "01 04 e0 f1 30 7c 29");
  Levels bare(100, 0);
  bare[2] = -3;
  test::ExpectAsOnThePage(Encoded(bare, 7), "01 02 00 5a 01");
  EXPECT_EQ(Decoded(Encoded(bare, 7), 7, 100), bare);
  EXPECT_EQ(Encoded(bare, 7, LevelForm::kPacked).size(), 51u);
  EXPECT_EQ(Decoded(Encoded(bare, 7, LevelForm::kPacked), 7, 100, LevelForm::kPacked), bare);
  EXPECT_THAT([&] { Decoded(Encoded(bare, 7), 7, 100, LevelForm::kPacked); },
              ThrowsMessage<Corrupt>(HasSubstr("their form is not the sender's")))
      << "who always packs sends no gaps";
}

TEST(LevelCoding, EveryTileGoesItsOwnWay) {
  Levels levels(2 * kLevelTile, 0);
  levels[5] = 1;
  for (std::size_t i = kLevelTile; i < levels.size(); ++i) levels[i] = i % 2 == 0 ? 1 : -1;
  const auto bytes = Encoded(levels, 1);
  EXPECT_EQ(bytes.size(), 1 + 2 * LevelTileEntry::kBytes + 1 + kLevelTile / 4);
  EXPECT_EQ(Decoded(bytes, 1, levels.size()), levels);
}

/// Levels of at most `s`, one of `zeros` + 1 of them not 0.
Levels RandomLevels(std::mt19937& random, std::size_t n, int s, unsigned zeros) {
  Levels levels(n);
  for (std::int8_t& level : levels) {
    const int magnitude = 1 + static_cast<int>(random() % static_cast<unsigned>(s));
    const int number = random() % 2 == 0 ? magnitude : -magnitude;
    level = static_cast<std::int8_t>(random() % (zeros + 1) == 0 ? number : 0);
  }
  return levels;
}

void ExpectBack(const Levels& levels, int s, LevelForm form) {
  const auto bytes = Encoded(levels, s, form);
  ASSERT_LE(bytes.size(), MaxLevelBytes(levels.size(), s, form));
  ASSERT_EQ(Decoded(bytes, s, levels.size(), form), levels) << "s " << s;
  std::vector<std::byte> room(MaxLevelBytes(levels.size(), s, form), std::byte{0xff});
  std::ranges::copy(bytes, room.begin());
  ASSERT_EQ(WrittenLevelBytes(room, levels.size(), s, form), bytes.size());
}

TEST(LevelCoding, EverythingComesBack) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 2000; ++round) {
    const int s = 1 + static_cast<int>(random() % kMostLevels);
    const Levels levels = RandomLevels(random, random() % 300, s, random() % 50);
    const LevelForm form = round % 2 == 0 ? LevelForm::kShorter : LevelForm::kPacked;
    ExpectBack(levels, s, form);
    if (HasFatalFailure()) return;
  }
}

TEST(LevelCoding, TilesOfEveryNumberOfPartsComeBack) {
  std::mt19937 random(1);
  std::set<unsigned> parts;
  for (const unsigned zeros : {3000u, 60u, 25u, 12u, 6u, 3u, 1u, 0u}) {
    for (const std::size_t n : {kLevelTile - 1, kLevelTile, 2 * kLevelTile + 700}) {
      const Levels levels = RandomLevels(random, n, 120, zeros);
      const auto bytes = Encoded(levels, 120);
      parts.insert(LevelTileEntry::Of(LoadLittleEndian<std::uint16_t>(&bytes[1])).parts_log2);
      ExpectBack(levels, 120, LevelForm::kShorter);
      if (HasFatalFailure()) return;
    }
  }
  EXPECT_THAT(parts, testing::ElementsAre(0, 1, 2, 3, 4, 5, LevelTileEntry::kPacked));
}

TEST(LevelCoding, WhatIsOutOfRangeIsCorrupt) {
  const auto expect = [](std::vector<int> numbers, LevelForm form, const char* text) {
    std::vector<std::byte> bytes;
    for (const int number : numbers) bytes.push_back(static_cast<std::byte>(number));
    EXPECT_THAT([&] { Decoded(bytes, 5, 4, form); }, ThrowsMessage<Corrupt>(HasSubstr(text)));
  };
  constexpr auto kPacked = LevelForm::kPacked;
  expect({}, kPacked, "there are none");
  expect({2, 0, 0}, kPacked, "their form is not the sender's");
  expect({0, 0}, kPacked, "length is 2, expected 3");
  expect({0, 0x06, 0x00}, kPacked, "outside its range");
  expect({0, 0x08, 0x00}, kPacked, "outside its range");
  constexpr auto kShorter = LevelForm::kShorter;
  expect({}, kShorter, "there are none");
  expect({0, 0, 0}, kShorter, "their form is not the sender's");
  expect({1, 0}, kShorter, "no room for the table");
  expect({1, 1, 0}, kShorter, "a tile ends past their end");
  expect({1, 0, 0, 0}, kShorter, "length is 4, expected 3");
  // Four levels take two bytes, and gaps never come where they are not shorter.
  expect({1, 2, 0, 1, 0}, kShorter, "the longer way was taken");
  expect({1, 1, 0xe0, 1}, kShorter, "a packed tile has 1 bytes, expected 2");
  expect({1, 1, 0x20, 1}, kShorter, "no room for the parts");
}

TEST(LevelCoding, GapsThatDoNotFitAreCorrupt) {
  Levels levels(100, 0);
  levels[99] = 1;
  const auto bytes = Encoded(levels, 7);
  EXPECT_THAT([&] { Decoded(bytes, 7, 99); }, ThrowsMessage<Corrupt>(HasSubstr("after the last")));
  ASSERT_EQ(bytes[1], std::byte{2});
  auto damaged = bytes;
  damaged.push_back(std::byte{0});  // Filling of more than a byte.
  damaged[1] = std::byte{3};
  EXPECT_THAT([&] { Decoded(damaged, 7, 100); },
              ThrowsMessage<Corrupt>(HasSubstr("after the last")));
}

TEST(LevelCoding, PartsThatDoNotFitAreCorrupt) {
  Levels levels(kLevelTile, 0);
  for (std::size_t i = 0; i < levels.size(); i += 20) levels[i] = 1;
  const auto bytes = Encoded(levels, 7);
  ASSERT_EQ(LevelTileEntry::Of(LoadLittleEndian<std::uint16_t>(&bytes[1])).parts_log2, 1u);
  auto damaged = bytes;
  damaged[3] ^= std::byte{1};  // The first part's end.
  EXPECT_THAT([&] { Decoded(damaged, 7, kLevelTile); },
              ThrowsMessage<Corrupt>(HasSubstr("does not end where it says")));
  // The same without parts: as if there were fewer levels.
  std::vector<std::byte> one_part = {bytes[0], bytes[1], bytes[2]};
  const auto codes = std::span(bytes).subspan(5);
  one_part.insert(one_part.end(), codes.begin(), codes.end());
  const LevelTileEntry entry{.bytes = static_cast<unsigned>(codes.size())};
  StoreLittleEndian(&one_part[1], entry.word());
  EXPECT_THAT([&] { Decoded(one_part, 7, kLevelTile); },
              ThrowsMessage<Corrupt>(HasSubstr("the number of a tile's parts")));
}

}  // namespace
}  // namespace weir
