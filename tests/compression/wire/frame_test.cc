#include "compression/wire/frame.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "compression/wire/sparse_payload.h"
#include "tests/compression/wire/sparse_sample.h"
#include "tests/compression/wire/wire_page.h"
#include "weir/error.h"

namespace weir {
namespace {

using testing::HasSubstr;
using Bytes = std::vector<std::byte>;

constexpr FrameHeader kHeader{.codec = CodecId::kDgc,
                              .dtype = DType::kFloat32,
                              .epoch = 3,
                              .bucket = 11,
                              .step = 123456789012,
                              .elements = 5000,
                              .payload_bytes = 20};
constexpr FrameExpectation kExpected{.codec = CodecId::kDgc,
                                     .dtype = DType::kFloat32,
                                     .epoch = 3,
                                     .bucket = 11,
                                     .step = 123456789012,
                                     .elements = 5000,
                                     .max_payload_bytes = 64};

Bytes FrameOf(FrameHeader header, const Bytes& payload) {
  Bytes frame(kFrameHeaderBytes + payload.size());
  std::ranges::copy(payload, frame.begin() + kFrameHeaderBytes);
  header.payload_bytes = payload.size();
  WriteFrameHeader(header, frame);
  return frame;
}

Bytes Sample() { return FrameOf(kHeader, Bytes(20, std::byte{0x5a})); }

std::string WhyCorrupt(const Bytes& frame, const FrameExpectation& expected) {
  try {
    ReadFrame(frame, expected);
  } catch (const Corrupt& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Frame, GivesBackThePayload) {
  const Bytes frame = Sample();
  const auto payload = ReadFrame(frame, kExpected);
  EXPECT_EQ(payload.data(), frame.data() + kFrameHeaderBytes);
  EXPECT_EQ(payload.size(), 20u);
  EXPECT_EQ(PeekFrameHeader(frame), kHeader);
}

TEST(Frame, MayBeEmpty) {
  const Bytes frame = FrameOf(kHeader, {});
  EXPECT_EQ(frame.size(), kFrameHeaderBytes);
  EXPECT_TRUE(ReadFrame(frame, kExpected).empty());
}

/// The layout of docs/wire-format.md, byte by byte: it must never change within a version.
TEST(Frame, LooksAsDocumented) {
  const Bytes frame = Sample();
  test::ExpectAsOnThePage(frame,
                          "57 45 49 52 01 07 00 00 03 00 00 00 0b 00 00 00 "
                          "14 1a 99 be 1c 00 00 00 88 13 00 00 00 00 00 00 "
                          "14 00 00 00 00 00 00 00 14 2c d3 d6 15 ab ce 2d "
                          "5a 5a 5a 5a 5a 5a 5a 5a 5a 5a 5a 5a 5a 5a 5a 5a 5a 5a 5a 5a");
}

TEST(Frame, EveryFlippedBitIsSeen) {
  const Bytes frame = Sample();
  for (std::size_t bit = 0; bit < frame.size() * 8; ++bit) {
    Bytes flipped = frame;
    flipped[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
    EXPECT_THROW(ReadFrame(flipped, kExpected), Corrupt) << "bit " << bit;
  }
}

TEST(Frame, EveryOtherLengthIsSeen) {
  Bytes frame = Sample();
  for (std::size_t size = 0; size < frame.size(); ++size) {
    EXPECT_THROW(ReadFrame(std::span(frame).first(size), kExpected), Corrupt) << size;
  }
  frame.push_back(std::byte{0});
  EXPECT_THROW(ReadFrame(frame, kExpected), Corrupt);
}

TEST(Frame, EveryExpectationIsChecked) {
  const Bytes frame = Sample();
  FrameExpectation other = kExpected;
  other.epoch = 4;
  EXPECT_THAT(WhyCorrupt(frame, other), HasSubstr("plan epoch is 3, expected 4"));
  other = kExpected;
  other.step = 1;
  EXPECT_THAT(WhyCorrupt(frame, other), HasSubstr("step is 123456789012, expected 1"));
  other = kExpected;
  other.bucket = 0;
  EXPECT_THAT(WhyCorrupt(frame, other), HasSubstr("bucket is 11, expected 0"));
  other = kExpected;
  other.codec = CodecId::kFloat16;
  EXPECT_THAT(WhyCorrupt(frame, other), HasSubstr("codec is 7, expected 1"));
  other = kExpected;
  other.dtype = DType::kFloat16;
  EXPECT_THAT(WhyCorrupt(frame, other), HasSubstr("dtype is 0, expected 2"));
  other = kExpected;
  other.elements = 5001;
  EXPECT_THAT(WhyCorrupt(frame, other), HasSubstr("element count is 5000, expected 5001"));
  other = kExpected;
  other.max_payload_bytes = 19;
  EXPECT_THAT(WhyCorrupt(frame, other), HasSubstr("payload length is 20, expected at most 19"));
}

/// A header whose fields all fit, but which was not written for this payload.
TEST(Frame, TheChecksumCoversTheHeader) {
  Bytes frame = Sample();
  frame[12] = std::byte{12};
  FrameExpectation expected = kExpected;
  expected.bucket = 12;
  EXPECT_THAT(WhyCorrupt(frame, expected), HasSubstr("checksum"));
}

/// A peer that computes checksums over nonsense: the parts' own checks must hold.
TEST(Frame, MutatedPayloadsWithAValidChecksumAreSeenOrHarmless) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  FrameExpectation expected = kExpected;
  for (int round = 0; round < 2000; ++round) {
    const std::size_t n = 1 + random() % 3000;
    const std::size_t k = 1 + random() % (n / 8 + 1);
    test::SparseSample sample = test::RandomSample(n, k, random);
    Bytes payload = test::Encoded(sample, ValueType::kFloat16);
    expected.max_payload_bytes = payload.size() + 8;
    for (unsigned i = 0; i < 1 + random() % 4; ++i) {
      payload[random() % payload.size()] = static_cast<std::byte>(random());
    }
    payload.resize(payload.size() - random() % 2);
    const Bytes frame = FrameOf(kHeader, payload);
    std::vector<float> sum(n, 0.25f);
    try {
      MergeSparse(ReadFrame(frame, expected), {n, k, ValueType::kFloat16}, sum);
    } catch (const Corrupt&) {
      EXPECT_EQ(sum, std::vector<float>(n, 0.25f));
    }
    EXPECT_LE(n - static_cast<std::size_t>(std::ranges::count(sum, 0.25f)), k);
  }
}

}  // namespace
}  // namespace weir
