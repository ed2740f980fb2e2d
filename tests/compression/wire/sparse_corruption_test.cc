#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>

#include "tests/compression/wire/sparse_sample.h"
#include "weir/error.h"

namespace weir {
namespace {

using test::Encoded;
using test::FormOf;
using test::kAllValueTypes;
using test::RandomSample;
using test::SparseSample;

using Bytes = std::vector<std::byte>;

/// Either Corrupt and nothing changed, or accepted with finite values at no more than max_k places.
void ExpectRefusedOrHarmless(const Bytes& payload, const SparseForm& form) {
  const auto [n, max_k, type] = form;
  std::vector<float> sum(n, 0.25f);
  bool refused = false;
  try {
    MergeSparse(payload, form, sum);
  } catch (const Corrupt&) {
    refused = true;
  }
  std::size_t changed = 0;
  for (float value : sum) {
    ASSERT_TRUE(std::isfinite(value));
    changed += value != 0.25f;
  }
  ASSERT_LE(changed, refused ? 0 : max_k);
}

void ExpectCorrupt(const Bytes& payload, std::size_t n, std::size_t max_k,
                   ValueType type = ValueType::kFloat16) {
  std::vector<float> sum(n, 0.25f);
  EXPECT_THROW(MergeSparse(payload, {n, max_k, type}, sum), Corrupt);
  EXPECT_EQ(sum, std::vector<float>(n, 0.25f));
}

SparseSample Sample(std::size_t n, std::size_t k) {
  std::mt19937 random(21);
  return RandomSample(n, k, random);
}

TEST(SparseCorruption, EveryOtherLengthIsRefused) {
  for (const ValueType type : kAllValueTypes) {
    for (std::size_t k : {0, 1, 30, 400}) {
      SparseSample sample = Sample(1000, k);
      Bytes payload = Encoded(sample, type);
      for (std::size_t size = 0; size < payload.size(); ++size) {
        ExpectCorrupt(Bytes(payload.begin(), payload.begin() + static_cast<std::ptrdiff_t>(size)),
                      1000, k, type);
      }
      payload.push_back(std::byte{0});
      ExpectCorrupt(payload, 1000, k, type);
    }
  }
}

// Whatever their length: two halves and two levels of 8 bits take the same.
TEST(SparseCorruption, ValuesOfAnotherTypeThanTheOptionsSayAreRefused) {
  for (const ValueType sent : kAllValueTypes) {
    SparseSample sample = Sample(1000, 2);
    const Bytes payload = Encoded(sample, sent);
    for (const ValueType expected : kAllValueTypes) {
      if (expected == sent) continue;
      ExpectCorrupt(payload, 1000, 2, expected);
      try {
        CheckSparse(payload, FormOf(sample, expected));
      } catch (const Corrupt& error) {
        EXPECT_NE(std::string(error.what()).find("value type"), std::string::npos) << error.what();
      }
    }
  }
}

TEST(SparseCorruption, RiceCodeBesideWholeValuesIsRefused) {
  constexpr std::size_t kEntries = 500;
  SparseSample sample = Sample(100000, kEntries);
  Bytes payload = Encoded(sample, ValueType::kInt8);
  ASSERT_EQ(std::to_integer<int>(payload[0]), 0x23);
  // The same indices, then halves, all 0.
  payload[0] = std::byte{0x03};
  payload.resize(payload.size() - 2 - kEntries);
  payload.resize(payload.size() + 2 * kEntries);
  ExpectCorrupt(payload, 100000, kEntries);
}

TEST(SparseCorruption, MoreEntriesThanTheReceiverAllowsAreRefused) {
  SparseSample sample = Sample(1000, 30);
  const Bytes payload = Encoded(sample, ValueType::kFloat16);
  ExpectCorrupt(payload, 1000, 29);
  std::vector<float> sum(1000);
  EXPECT_NO_THROW(MergeSparse(payload, FormOf(sample, ValueType::kFloat16), sum));
}

TEST(SparseCorruption, AnotherTensorSizeIsRefused) {
  SparseSample sample = Sample(1000, 30);
  const Bytes payload = Encoded(sample, ValueType::kFloat16);
  for (std::size_t n : {1, 29, 100, 500, 2000, 100000}) ExpectCorrupt(payload, n, 30);
}

TEST(SparseCorruption, NonFiniteValuesAreRefused) {
  for (std::uint16_t half : {0x7c00, 0xfc00, 0x7e00, 0x7fff}) {
    SparseSample sample = Sample(1000, 30);
    Bytes payload = Encoded(sample, ValueType::kFloat16);
    payload[payload.size() - 2] = static_cast<std::byte>(half & 0xff);
    payload[payload.size() - 1] = static_cast<std::byte>(half >> 8);
    ExpectCorrupt(payload, 1000, 30);
  }
  SparseSample sample = Sample(1000, 30);
  Bytes payload = Encoded(sample, ValueType::kFloat32);
  payload[payload.size() - 2] = std::byte{0x80};
  payload[payload.size() - 1] = std::byte{0x7f};
  ExpectCorrupt(payload, 1000, 30, ValueType::kFloat32);
}

/// Two indices in one Elias-Fano bucket with their low bits exchanged.
TEST(SparseCorruption, DescendingOrEqualIndicesAreRefused) {
  SparseSample sample{4096, {16, 17}, {1.0f, 2.0f}};
  const Bytes payload = Encoded(sample, ValueType::kFloat16);  // 11 low bits an index.
  Bytes equal = payload;
  equal[6] = std::byte{17};
  ExpectCorrupt(equal, 4096, 2);
  Bytes descending = payload;
  descending[6] = std::byte{18};
  ExpectCorrupt(descending, 4096, 2);
}

TEST(SparseCorruption, IndexPastTheEndIsRefused) {
  SparseSample sample{4000, {16, 3999}, {1.0f, 2.0f}};
  Bytes payload = Encoded(sample, ValueType::kFloat16);
  for (std::size_t i = 6; i < 9; ++i) payload[i] |= std::byte{0xff};
  payload[8] &= std::byte{0x3f};  // 22 low bits; the padding stays zero.
  ExpectCorrupt(payload, 4000, 2);
}

TEST(SparseCorruption, EveryFlippedBitOfTheIndicesOfACompactPartIsSeenOrHarmless) {
  for (const ValueType type : kAllValueTypes) {
    for (std::size_t k : {1, 40, 700}) {
      SparseSample sample = Sample(1500, k);
      const Bytes payload = Encoded(sample, type);
      for (std::size_t bit = 0; bit < payload.size() * 8; ++bit) {
        Bytes flipped = payload;
        flipped[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
        ExpectRefusedOrHarmless(flipped, FormOf(sample, type));
      }
    }
  }
}

TEST(SparseCorruption, RandomBytesAreSeenOrHarmless) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 3000; ++round) {
    const std::size_t n = 1 + random() % 500;
    const std::size_t k = random() % (n + 1);
    const auto type = kAllValueTypes[random() % std::size(kAllValueTypes)];
    SparseSample sample = RandomSample(n, k, random);
    Bytes payload = Encoded(sample, type);
    const unsigned mutations = 1 + random() % 8;
    for (unsigned i = 0; i < mutations; ++i) {
      payload[random() % payload.size()] = static_cast<std::byte>(random());
    }
    if (random() % 4 == 0) payload.resize(random() % (payload.size() + 20));
    ExpectRefusedOrHarmless(payload, {n, k, type});
  }
}

TEST(DenseCorruption, WrongLengthTypeExponentAndValuesAreRefused) {
  std::vector<float> values = {1.0f, 2.0f, 3.0f};
  Bytes payload(DensePayloadBytes(3, ValueType::kFloat16));
  EncodeDense(values, ValueType::kFloat16, payload);
  const auto expect_corrupt = [&payload](std::size_t n, std::size_t at, int byte) {
    Bytes changed = payload;
    changed[at] = static_cast<std::byte>(byte);
    std::vector<float> sum(n, 0.25f);
    EXPECT_THROW(MergeDense(changed, ValueType::kFloat16, sum), Corrupt);
    EXPECT_EQ(sum, std::vector<float>(n, 0.25f));
  };
  expect_corrupt(2, 0, 0);
  expect_corrupt(4, 0, 0);
  expect_corrupt(3, 0, 0x10);  // fp32 of this length.
  expect_corrupt(3, 0, 0x20);  // No such type.
  expect_corrupt(3, 0, 0x01);  // A sparse part.
  expect_corrupt(3, 1, 113);
  expect_corrupt(3, 1, -126);
  expect_corrupt(3, 7, 0x7c);
  std::vector<float> sum(3);
  EXPECT_THROW(MergeDense({}, ValueType::kFloat16, sum), Corrupt);
}

}  // namespace
}  // namespace weir
