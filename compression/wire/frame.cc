#include "compression/wire/frame.h"

#include <xxhash.h>

#include <array>
#include <memory>
#include <string>

#include "common/check.h"
#include "compression/wire/bit_stream.h"
#include "weir/error.h"

namespace weir {
namespace {

constexpr std::uint32_t kFrameMagic = 0x52494557;  // "WEIR"

// Byte offsets of the fields.
constexpr std::size_t kMagicAt = 0;
constexpr std::size_t kVersionAt = 4;
constexpr std::size_t kCodecAt = 5;
constexpr std::size_t kDTypeAt = 6;
constexpr std::size_t kReservedAt = 7;
constexpr std::size_t kEpochAt = 8;
constexpr std::size_t kBucketAt = 12;
constexpr std::size_t kStepAt = 16;
constexpr std::size_t kElementsAt = 24;
constexpr std::size_t kPayloadBytesAt = 32;
constexpr std::size_t kChecksumAt = 40;
static_assert(kChecksumAt + sizeof(std::uint64_t) == kFrameHeaderBytes);

void Expect(const char* field, std::uint64_t found, std::uint64_t expected) {
  if (found == expected) return;
  throw Corrupt("frame: " + std::string(field) + " is " + std::to_string(found) + ", expected " +
                std::to_string(expected));
}

/// XXH3-64 over the header before the checksum, and the payload.
std::uint64_t ChecksumOf(std::span<const std::byte> frame) {
  const std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> state(XXH3_createState(),
                                                                       &XXH3_freeState);
  WEIR_CHECK(state != nullptr);
  XXH3_64bits_reset(state.get());
  XXH3_64bits_update(state.get(), frame.data(), kChecksumAt);
  const std::span<const std::byte> payload = frame.subspan(kFrameHeaderBytes);
  XXH3_64bits_update(state.get(), payload.data(), payload.size());
  return XXH3_64bits_digest(state.get());
}

}  // namespace

void WriteFrameHeader(const FrameHeader& header, std::span<std::byte> frame) {
  WEIR_CHECK(frame.size() >= kFrameHeaderBytes + header.payload_bytes);
  std::byte* out = frame.data();
  StoreLittleEndian(out + kMagicAt, kFrameMagic);
  StoreLittleEndian(out + kVersionAt, kFrameVersion);
  StoreLittleEndian(out + kCodecAt, static_cast<std::uint8_t>(header.codec));
  StoreLittleEndian(out + kDTypeAt, static_cast<std::uint8_t>(header.dtype));
  StoreLittleEndian(out + kReservedAt, std::uint8_t{0});
  StoreLittleEndian(out + kEpochAt, header.epoch);
  StoreLittleEndian(out + kBucketAt, header.bucket);
  StoreLittleEndian(out + kStepAt, header.step);
  StoreLittleEndian(out + kElementsAt, header.elements);
  StoreLittleEndian(out + kPayloadBytesAt, header.payload_bytes);
  StoreLittleEndian(out + kChecksumAt,
                    ChecksumOf(frame.first(kFrameHeaderBytes + header.payload_bytes)));
}

FrameHeader PeekFrameHeader(std::span<const std::byte> frame) {
  if (frame.size() < kFrameHeaderBytes) {
    throw Corrupt("frame: length is " + std::to_string(frame.size()) + ", expected at least " +
                  std::to_string(kFrameHeaderBytes));
  }
  const std::byte* in = frame.data();
  Expect("magic", LoadLittleEndian<std::uint32_t>(in + kMagicAt), kFrameMagic);
  Expect("version", LoadLittleEndian<std::uint8_t>(in + kVersionAt), kFrameVersion);
  Expect("reserved byte", LoadLittleEndian<std::uint8_t>(in + kReservedAt), 0);
  const auto dtype = LoadLittleEndian<std::uint8_t>(in + kDTypeAt);
  if (dtype >= kDTypeCount) {
    throw Corrupt("frame: dtype is " + std::to_string(dtype) + ", expected below " +
                  std::to_string(kDTypeCount));
  }
  return {.codec = static_cast<CodecId>(LoadLittleEndian<std::uint8_t>(in + kCodecAt)),
          .dtype = static_cast<DType>(dtype),
          .epoch = LoadLittleEndian<std::uint32_t>(in + kEpochAt),
          .bucket = LoadLittleEndian<std::uint32_t>(in + kBucketAt),
          .step = LoadLittleEndian<std::uint64_t>(in + kStepAt),
          .elements = LoadLittleEndian<std::uint64_t>(in + kElementsAt),
          .payload_bytes = LoadLittleEndian<std::uint64_t>(in + kPayloadBytesAt)};
}

std::span<const std::byte> ReadFrame(std::span<const std::byte> frame,
                                     const FrameExpectation& expected) {
  const FrameHeader header = PeekFrameHeader(frame);
  // Plan first: a frame of another epoch or step explains every difference after it.
  Expect("plan epoch", header.epoch, expected.epoch);
  Expect("step", header.step, expected.step);
  Expect("bucket", header.bucket, expected.bucket);
  Expect("codec", static_cast<std::uint64_t>(header.codec),
         static_cast<std::uint64_t>(expected.codec));
  Expect("dtype", static_cast<std::uint64_t>(header.dtype),
         static_cast<std::uint64_t>(expected.dtype));
  Expect("element count", header.elements, expected.elements);
  if (header.payload_bytes > expected.max_payload_bytes) {
    throw Corrupt("frame: payload length is " + std::to_string(header.payload_bytes) +
                  ", expected at most " + std::to_string(expected.max_payload_bytes));
  }
  Expect("payload length", header.payload_bytes, frame.size() - kFrameHeaderBytes);
  Expect("checksum", LoadLittleEndian<std::uint64_t>(frame.data() + kChecksumAt),
         ChecksumOf(frame));
  return frame.subspan(kFrameHeaderBytes);
}

}  // namespace weir
