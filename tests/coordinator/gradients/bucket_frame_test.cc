#include "coordinator/gradients/bucket_frame.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <ostream>
#include <string>
#include <vector>

#include "compression/wire/frame.h"
#include "tests/compression/wire/wire_page.h"
#include "weir/error.h"

namespace weir {
namespace {

using Bytes = std::vector<std::byte>;

const BucketFrame::Identity kIdentity = {
    .epoch = 3, .step = 70'000, .bucket = 5, .elements = 1234, .codec = CodecId::kDgc};

/// Payload i consists of bytes of value i + 1.
Bytes WriteFrame(const std::vector<std::size_t>& most, const std::vector<std::size_t>& lengths,
                 const BucketFrame::Identity& identity = kIdentity) {
  const std::size_t bytes = std::accumulate(most.begin(), most.end(), std::size_t{0});
  Bytes frame(BucketFrame::MaxBytes(most.size(), bytes));
  BucketFrame::Writer writer(frame, most);
  for (std::size_t i = 0; i < most.size(); ++i) {
    const std::span<std::byte> room = writer.Next();
    EXPECT_EQ(room.size(), most[i]);
    std::ranges::fill(room.first(lengths[i]), static_cast<std::byte>(i + 1));
    writer.Put(lengths[i]);
  }
  frame.resize(writer.Seal(identity));
  return frame;
}

std::vector<Bytes> ReadPayloads(std::span<const std::byte> frame,
                                const std::vector<std::size_t>& most,
                                const BucketFrame::Identity& expected = kIdentity) {
  std::vector<std::span<const std::byte>> payloads(most.size());
  BucketFrame::Read(frame, expected, most, payloads);
  std::vector<Bytes> copies;
  for (const auto& payload : payloads) copies.emplace_back(payload.begin(), payload.end());
  return copies;
}

/// Why the frame is refused, or "" when it is not.
std::string Complaint(std::span<const std::byte> frame, const std::vector<std::size_t>& most,
                      const BucketFrame::Identity& expected = kIdentity) {
  try {
    ReadPayloads(frame, most, expected);
  } catch (const Corrupt& error) {
    return error.what();
  }
  return "";
}

/// A frame with this payload and a checksum that is right.
Bytes SealedFrame(const Bytes& payload) {
  Bytes frame(kFrameHeaderBytes + payload.size());
  std::ranges::copy(payload, frame.begin() + kFrameHeaderBytes);
  WriteFrameHeader({.codec = kIdentity.codec,
                    .epoch = kIdentity.epoch,
                    .bucket = kIdentity.bucket,
                    .step = static_cast<std::uint64_t>(kIdentity.step),
                    .elements = kIdentity.elements,
                    .payload_bytes = payload.size()},
                   frame);
  return frame;
}

std::vector<Bytes> Expected(const std::vector<std::size_t>& lengths) {
  std::vector<Bytes> payloads;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    payloads.emplace_back(lengths[i], static_cast<std::byte>(i + 1));
  }
  return payloads;
}

TEST(BucketFrame, PayloadsThatFillTheirRoomNeedNoLengths) {
  const std::vector<std::size_t> most = {7, 0, 100, 1};
  const Bytes frame = WriteFrame(most, most);
  EXPECT_EQ(frame.size(), kFrameHeaderBytes + 1 + 108);
  EXPECT_EQ(ReadPayloads(frame, most), Expected(most));
}

TEST(BucketFrame, ShorterPayloadsKeepTheirLengths) {
  const std::vector<std::size_t> most = {7, 5, 100, 1};
  const std::vector<std::size_t> lengths = {7, 0, 42, 1};
  const Bytes frame = WriteFrame(most, lengths);
  EXPECT_EQ(frame.size(), kFrameHeaderBytes + 1 + 4 * 4 + 50);
  EXPECT_EQ(ReadPayloads(frame, most), Expected(lengths));
}

TEST(BucketFrame, TheBytesAreThoseOfTheWireFormatsPage) {
  const std::vector<std::size_t> most = {3, 2};
  const auto payload = [&](const std::vector<std::size_t>& lengths) {
    const Bytes frame = WriteFrame(most, lengths);
    return Bytes(frame.begin() + kFrameHeaderBytes, frame.end());
  };
  test::ExpectAsOnThePage(payload({3, 2}), "00 01 01 01 02 02");
  test::ExpectAsOnThePage(payload({3, 1}), "01 03 00 00 00 01 00 00 00 01 01 01 02");
}

TEST(BucketFrame, AnEmptyOneContributesNothing) {
  EXPECT_EQ(ReadPayloads(SealedFrame({}), {7, 5}), (std::vector<Bytes>{{}, {}}));
}

TEST(BucketFrame, IsRefusedWhereverItIsCut) {
  const std::vector<std::size_t> most = {7, 5, 30};
  for (const std::vector<std::size_t>& lengths : {most, std::vector<std::size_t>{7, 2, 11}}) {
    const Bytes frame = WriteFrame(most, lengths);
    for (std::size_t size = 0; size < frame.size(); ++size) {
      EXPECT_NE(Complaint(std::span(frame).first(size), most), "") << size;
    }
  }
}

TEST(BucketFrame, IsRefusedWhicheverByteIsFlipped) {
  const std::vector<std::size_t> most = {7, 5, 30};
  const Bytes frame = WriteFrame(most, {7, 2, 11});
  for (std::size_t i = 0; i < frame.size(); ++i) {
    Bytes damaged = frame;
    damaged[i] ^= std::byte{0x81};
    EXPECT_NE(Complaint(damaged, most), "") << i;
  }
}

struct Difference {
  const char* field;
  std::function<void(BucketFrame::Identity&)> change;

  friend void PrintTo(const Difference& difference, std::ostream* out) { *out << difference.field; }
};
class ForeignFrame : public testing::TestWithParam<Difference> {};

// Whole frames with a right checksum, but from another step, bucket, ...
TEST_P(ForeignFrame, IsRefusedByTheFieldsName) {
  const std::vector<std::size_t> most = {7, 5};
  BucketFrame::Identity other = kIdentity;
  GetParam().change(other);
  std::string name = GetParam().field;
  std::ranges::replace(name, '_', ' ');
  const std::string complaint = Complaint(WriteFrame(most, most, other), most);
  EXPECT_EQ(complaint.find("frame: " + name + " is "), 0u) << complaint;
}

INSTANTIATE_TEST_SUITE_P(
    , ForeignFrame,
    testing::Values(Difference{"plan_epoch", [](auto& identity) { ++identity.epoch; }},
                    Difference{"step", [](auto& identity) { --identity.step; }},
                    Difference{"bucket", [](auto& identity) { ++identity.bucket; }},
                    Difference{"element_count", [](auto& identity) { --identity.elements; }},
                    Difference{"codec", [](auto& identity) { identity.codec = CodecId::kTopK; }}),
    [](const auto& test) { return test.param.field; });

// Claims that a peer with a correct checksum may still make.
TEST(BucketFrame, ClaimsAreComparedWithWhatIsPossible) {
  const std::vector<std::size_t> most = {4, 4};
  const auto refused = [&](const Bytes& payload) { return Complaint(SealedFrame(payload), most); };
  const auto bytes = [](std::initializer_list<int> values) {
    Bytes result;
    for (const int value : values) result.push_back(static_cast<std::byte>(value));
    return result;
  };
  EXPECT_EQ(refused(bytes({2, 0, 0})), "its lengths have the unknown form 2");
  EXPECT_EQ(refused(bytes({1, 4, 0, 0, 0, 4, 0, 0})), "its list of lengths is cut short");
  EXPECT_EQ(refused(bytes({1, 5, 0, 0, 0, 0, 0, 0, 0, 9, 9, 9, 9, 9})),
            "payload 0 claims 5 bytes; at most 4 are possible");
  EXPECT_EQ(refused(bytes({1, 2, 0, 0, 0, 255, 255, 255, 255, 9, 9, 9})),
            "payload 1 claims 4294967295 bytes; at most 1 are possible");
  EXPECT_EQ(refused(bytes({0, 9, 9, 9, 9, 9})), "payload 1 claims 4 bytes; at most 1 are possible");
  EXPECT_EQ(refused(bytes({1, 1, 0, 0, 0, 1, 0, 0, 0, 9, 9, 9})),
            "it has 1 bytes after its last payload");
  EXPECT_EQ(refused(Bytes(1 + 2 * 4 + 8 + 1)), "frame: payload length is 18, expected at most 17");
}

}  // namespace
}  // namespace weir
