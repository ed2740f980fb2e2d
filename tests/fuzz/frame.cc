// The header of a frame.
#include "compression/wire/frame.h"

#include "tests/fuzz/checksum.h"
#include "tests/fuzz/fuzz_target.h"
#include "weir/error.h"

namespace weir::fuzz {
namespace {

constexpr FrameExpectation kExpected{.codec = CodecId::kDgc,
                                     .dtype = DType::kFloat32,
                                     .epoch = 3,
                                     .bucket = 11,
                                     .step = 123456789012,
                                     .elements = 5000,
                                     .max_payload_bytes = 64};

FrameHeader HeaderOf(std::size_t payload_bytes) {
  return {.codec = kExpected.codec,
          .dtype = kExpected.dtype,
          .epoch = kExpected.epoch,
          .bucket = kExpected.bucket,
          .step = kExpected.step,
          .elements = kExpected.elements,
          .payload_bytes = payload_bytes};
}

}  // namespace

void Run(std::span<const std::byte> bytes) {
  Input input(bytes);
  const Bytes frame = FrameFrom(input);
  FrameHeader header;
  const bool peeked = Accepts<Corrupt>([&] { header = PeekFrameHeader(frame); });
  std::span<const std::byte> payload;
  if (!Accepts<Corrupt>([&] { payload = ReadFrame(frame, kExpected); })) return;
  WEIR_CHECK(peeked && header == HeaderOf(payload.size()));
  WEIR_CHECK(payload.size() <= kExpected.max_payload_bytes);
  WEIR_CHECK(payload.size() + kFrameHeaderBytes == frame.size());
  WEIR_CHECK(payload.empty() || payload.data() == frame.data() + kFrameHeaderBytes);
  Bytes again = frame;
  WriteFrameHeader(header, again);
  WEIR_CHECK(again == frame);
}

std::vector<Bytes> Seeds() {
  std::vector<Bytes> seeds;
  for (const std::size_t size : {0u, 1u, 20u, 64u}) {
    Bytes frame(kFrameHeaderBytes + size, std::byte{0x5a});
    WriteFrameHeader(HeaderOf(size), frame);
    seeds.push_back(Seed({1}, frame));
  }
  return seeds;
}

}  // namespace weir::fuzz
