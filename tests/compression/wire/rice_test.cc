#include "compression/wire/rice.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "compression/wire/elias_fano.h"
#include "tests/compression/wire/sparse_sample.h"
#include "weir/error.h"

namespace weir {
namespace {

using Indices = std::vector<std::uint32_t>;
using Bytes = std::vector<std::byte>;

Bytes Encode(const Indices& indices, const RiceCode& code) {
  Bytes bytes(code.bytes);
  EncodeRice(indices, code, bytes.data());
  return bytes;
}

Bytes Encode(const Indices& indices) { return Encode(indices, BestRiceCode(indices)); }

Indices Decode(std::size_t n, std::size_t k, const Bytes& bytes) {
  Indices indices(k);
  DecodeRice(n, bytes, indices);
  return indices;
}

/// By definition.
std::size_t BitsWith(const Indices& indices, unsigned parameter) {
  std::size_t bits = 0;
  std::uint64_t next = 0;
  for (const std::uint32_t index : indices) {
    bits += parameter + ((index - next) >> parameter) + 1;
    next = std::uint64_t{index} + 1;
  }
  return bits;
}

Indices Random(std::size_t n, std::size_t k, std::mt19937& random) {
  return test::RandomSample(n, k, random).indices;
}

TEST(Rice, EverySetOfFewElementsSurvives) {
  for (const std::size_t n : {1u, 2u, 9u, 13u}) {
    for (unsigned set = 1; set < 1u << n; ++set) {
      Indices indices;
      for (std::uint32_t i = 0; i < n; ++i) {
        if ((set >> i & 1u) != 0) indices.push_back(i);
      }
      ASSERT_EQ(Decode(n, indices.size(), Encode(indices)), indices) << set << " of " << n;
    }
  }
}

TEST(Rice, EveryDensityAndClustersSurvive) {
  const unsigned seed = 31;
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  for (const std::size_t n : {1000, 65537, 1000003}) {
    for (const double density : {1e-6, 1e-3, 0.03, 0.3, 1.0}) {
      const auto k = std::max<std::size_t>(1, static_cast<std::size_t>(density * n));
      const Indices indices = Random(n, k, random);
      ASSERT_EQ(Decode(n, k, Encode(indices)), indices) << k << " of " << n;
    }
    Indices cluster(200);
    for (std::uint32_t i = 0; i < cluster.size(); ++i)
      cluster[i] = static_cast<std::uint32_t>(n) - 200 + i;
    ASSERT_EQ(Decode(n, 200, Encode(cluster)), cluster);
  }
}

TEST(Rice, TheEndsOfTheLargestTensorSurvive) {
  const std::size_t n = UINT32_MAX;
  for (const Indices& indices : {Indices{0}, Indices{UINT32_MAX - 1}, Indices{0, UINT32_MAX - 1},
                                 Indices{0, 1, 2, 3, 4, 5, 6, 7, UINT32_MAX - 2, UINT32_MAX - 1}}) {
    EXPECT_EQ(Decode(n, indices.size(), Encode(indices)), indices);
  }
}

TEST(Rice, TheParameterIsTheLeastOfTheBest) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 500; ++round) {
    const std::size_t n = 1 + random() % 20000;
    // A few, or many at one end and few elsewhere.
    Indices indices = Random(n, 1 + random() % std::min<std::size_t>(n, 300), random);
    if (round % 2 == 1) {
      for (std::uint32_t& index : indices) index /= 1 + random() % 2 * 15;
      std::ranges::sort(indices);
      indices.erase(std::ranges::unique(indices).begin(), indices.end());
    }
    unsigned best = 0;
    for (unsigned r = 1; r < 32; ++r) {
      if (BitsWith(indices, r) < BitsWith(indices, best)) best = r;
    }
    ASSERT_EQ(BestRiceCode(indices).parameter, best);
  }
}

/// The entropy of which elements of a tensor are there, at this density, in bits an index.
double Entropy(double density) {
  return (-density * std::log2(density) - (1 - density) * std::log2(1 - density)) / density;
}

TEST(Rice, IsCloseToTheEntropyOfRandomIndicesAndShorterThanEliasFano) {
  std::mt19937 random(33);
  for (const double density : {0.001, 0.01, 0.05}) {
    const std::size_t n = 1 << 22;
    const auto k = static_cast<std::size_t>(density * static_cast<double>(n));
    const std::size_t bytes = Encode(Random(n, k, random)).size();
    EXPECT_LT(bytes, EliasFanoBytes(n, k));
    EXPECT_LT(8.0 * static_cast<double>(bytes) / static_cast<double>(k), Entropy(density) + 0.1);
  }
}

/// The example of docs/wire-format.md.
TEST(Rice, LooksAsDocumented) {
  const Bytes bytes = Encode({3, 9, 14});
  const Bytes documented = {std::byte{1}, std::byte{0x03}, std::byte{0x92}};
  EXPECT_EQ(bytes, documented);
}

TEST(RiceCorruption, EachSetHasOneSpelling) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  int accepted = 0;
  for (int round = 0; round < 20000; ++round) {
    const std::size_t n = 1 + random() % 300;
    const std::size_t k = 1 + random() % std::min<std::size_t>(n, 12);
    Bytes bytes = Encode(Random(n, k, random));
    for (unsigned i = 0; i <= random() % 3; ++i) {
      bytes[random() % bytes.size()] ^= static_cast<std::byte>(1u << random() % 8);
    }
    Indices indices(k);
    try {
      DecodeRice(n, bytes, indices);
    } catch (const Corrupt&) {
      continue;
    }
    ++accepted;
    ASSERT_TRUE(std::ranges::is_sorted(indices, std::ranges::less_equal{}) || k == 1);
    ASSERT_LT(indices.back(), n);
    ASSERT_EQ(Encode(indices), bytes);
  }
  EXPECT_GT(accepted, 0);
}

TEST(RiceCorruption, AnotherParameterThanTheBestIsRefused) {
  std::mt19937 random(35);
  const Indices indices = Random(100000, 100, random);
  const unsigned best = BestRiceCode(indices).parameter;
  for (const unsigned r : {0u, best - 1, best + 1, 31u}) {
    const std::size_t low = (indices.size() * r + 7) / 8;
    const std::size_t unary = BitsWith(indices, r) - indices.size() * r;
    const Bytes bytes = Encode(indices, {r, 1 + low + (unary + 7) / 8});
    EXPECT_THROW(Decode(100000, 100, bytes), Corrupt) << r;
  }
}

TEST(RiceCorruption, WhatIsTooShortTooLongOrOutsideIsRefused) {
  const Indices indices = {3, 9, 14};
  const Bytes good = Encode(indices);
  EXPECT_EQ(Decode(15, 3, good), indices);
  EXPECT_THROW(Decode(14, 3, good), Corrupt);
  EXPECT_THROW(Decode(15, 2, good), Corrupt);
  EXPECT_THROW(Decode(15, 4, good), Corrupt);
  for (std::size_t size = 0; size < good.size(); ++size) {
    EXPECT_THROW(
        Decode(15, 3, Bytes(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(size))),
        Corrupt);
  }
  Bytes longer = good;
  longer.push_back(std::byte{0});
  EXPECT_THROW(Decode(15, 3, longer), Corrupt);
  Bytes padded = good;
  padded[1] |= std::byte{0x40};  // The low part has 3 bits.
  EXPECT_THROW(Decode(15, 3, padded), Corrupt);
  Bytes parameter = good;
  parameter[0] = std::byte{32};
  EXPECT_THROW(Decode(15, 3, parameter), Corrupt);
}

}  // namespace
}  // namespace weir
