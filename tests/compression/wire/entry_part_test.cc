#include "compression/wire/entry_part.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <random>

#include "compression/sparse_mean.h"
#include "tests/compression/wire/wire_page.h"
#include "weir/error.h"

namespace weir {
namespace {

constexpr unsigned kSeed = 20;

/// `k` of n entries, over many magnitudes.
SparseEntries Some(std::size_t n, std::size_t k, std::mt19937& random) {
  std::vector<std::uint32_t> all(n);
  std::iota(all.begin(), all.end(), 0U);
  SparseEntries entries;
  std::ranges::sample(all, std::back_inserter(entries.indices), static_cast<std::ptrdiff_t>(k),
                      random);
  std::normal_distribution<float> value;
  std::uniform_int_distribution<int> exponent(-20, 20);
  for (std::size_t i = 0; i < k; ++i) {
    entries.values.push_back(std::ldexp(value(random), exponent(random)));
  }
  return entries;
}

std::vector<std::byte> Encode(const SparseEntries& entries, std::size_t n, ValueType type) {
  std::vector<std::byte> part(MaxEntryPartBytes(n, type));
  part.resize(EncodeEntryPart(n, entries.indices, entries.values, type, part));
  return part;
}

TEST(EntryPart, KeepsFewAndAllEntries) {
  std::mt19937 random(kSeed);
  for (const std::size_t n : {1, 7, 64, 1000}) {
    for (const std::size_t k : {std::size_t{0}, std::size_t{1}, n / 3, n}) {
      const SparseEntries sent = Some(n, k, random);
      const SparseEntries got =
          DecodeEntryPart(Encode(sent, n, ValueType::kFloat32), n, ValueType::kFloat32);
      std::vector<float> expected(n), found(n);
      for (std::size_t i = 0; i < k; ++i) expected[sent.indices[i]] = sent.values[i];
      for (std::size_t i = 0; i < got.indices.size(); ++i) found[got.indices[i]] = got.values[i];
      EXPECT_EQ(found, expected) << k << " of " << n;
    }
  }
}

// The reason why a payload may be divided: the largest value of a part is smaller than that of
// the whole, so its scale is finer.
TEST(EntryPart, WhatWasRoundedOnceStaysAsItIs) {
  std::mt19937 random(kSeed);
  constexpr std::size_t kElements = 2000;
  for (int run = 0; run < 200; ++run) {
    const SparseEntries whole = Some(kElements, 150, random);
    std::vector<std::byte> payload(SparsePayloadBytes(kElements, 150, ValueType::kFloat16));
    std::vector<float> sent = whole.values;
    EncodeSparse(kElements, whole.indices, sent, ValueType::kFloat16, payload);
    const SparseEntries rounded =
        DecodeSparse(payload, {kElements, kElements, ValueType::kFloat16});
    const std::size_t half = 75;
    SparseEntries part{{rounded.indices.begin() + half, rounded.indices.end()},
                       {rounded.values.begin() + half, rounded.values.end()}};
    EXPECT_EQ(DecodeEntryPart(Encode(part, kElements, ValueType::kFloat16), kElements,
                              ValueType::kFloat16)
                  .values,
              part.values);
  }
}

TEST(EntryPart, TheBytesAreThoseOfTheWireFormatsPage) {
  const SparseEntries entries{{3, 9, 14}, {1.0f, -0.5f, 0.25f}};
  test::ExpectAsOnThePage(Encode(entries, 16, ValueType::kFloat16),
                          "01 f1 03 00 00 00 27 29 00 78 00 f4 00 70");
  const SparseEntries two{{0, 2}, {1.0f, -0.5f}};
  test::ExpectAsOnThePage(Encode(two, 4, ValueType::kFloat16), "00 f1 00 78 00 00 00 f4 00 00");
}

TEST(EntryPart, AnEmptyPayloadHasNoEntries) {
  EXPECT_TRUE(DecodeEntryPart({}, 10, ValueType::kFloat16).indices.empty());
}

TEST(EntryPart, ForeignBytesAreRefused) {
  std::mt19937 random(kSeed);
  for (const std::size_t k : {std::size_t{3}, std::size_t{100}}) {
    const std::vector<std::byte> part = Encode(Some(100, k, random), 100, ValueType::kFloat16);
    EXPECT_THROW(DecodeEntryPart(part, 100, ValueType::kFloat32), Corrupt);
    EXPECT_THROW(DecodeEntryPart(part, 50, ValueType::kFloat16), Corrupt);
    for (std::size_t length = 1; length < part.size(); ++length) {
      EXPECT_THROW(DecodeEntryPart(std::span(part).first(length), 100, ValueType::kFloat16),
                   Corrupt)
          << length;
    }
  }
}

TEST(EntryPart, ASparsePartThatIsNoShorterThanADenseOneIsRefused) {
  const std::vector<std::uint32_t> indices = {0, 2};
  std::vector<float> values = {1.0f, -0.5f};
  std::vector<std::byte> part(SparsePayloadBytes(4, 2, ValueType::kFloat16));
  EncodeSparse(4, indices, values, ValueType::kFloat16, part);
  EXPECT_THROW(DecodeEntryPart(part, 4, ValueType::kFloat16), Corrupt);
}

TEST(SumEntries, AddsInOrderWhatAnyListNames) {
  std::mt19937 random(kSeed);
  for (const std::size_t n : {10, 4096, 10000}) {
    std::vector<SparseEntries> lists;
    std::vector<float> expected(n);
    std::vector<bool> named(n);
    for (int rank = 0; rank < 5; ++rank) {
      lists.push_back(Some(n, n / 10 + 1, random));
      for (std::size_t i = 0; i < lists.back().indices.size(); ++i) {
        expected[lists.back().indices[i]] += lists.back().values[i];
        named[lists.back().indices[i]] = true;
      }
    }
    const SparseEntries sums = SumEntries(lists, n);
    std::size_t at = 0;
    for (std::uint32_t i = 0; i < n; ++i) {
      if (!named[i]) continue;
      ASSERT_LT(at, sums.indices.size());
      EXPECT_EQ(sums.indices[at], i);
      EXPECT_EQ(sums.values[at++], expected[i]);
    }
    EXPECT_EQ(at, sums.indices.size());
  }
  EXPECT_TRUE(SumEntries({{}, {}}, 100).indices.empty());
}

}  // namespace
}  // namespace weir
