#include "coordinator/gradients/bucket_frame.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>

#include "common/check.h"
#include "compression/wire/frame.h"
#include "weir/error.h"

namespace weir {
namespace {

/// The byte after the header.
enum class Lengths : std::uint8_t { kMost = 0, kListed = 1 };

constexpr std::size_t kLengthBytes = sizeof(std::uint32_t);

std::size_t ListBytes(std::size_t payloads) { return payloads * kLengthBytes; }

FrameHeader HeaderOf(const BucketFrame::Identity& identity, std::size_t payload_bytes) {
  return {.codec = identity.codec,
          .epoch = identity.epoch,
          .bucket = identity.bucket,
          .step = static_cast<std::uint64_t>(identity.step),
          .elements = identity.elements,
          .payload_bytes = payload_bytes};
}

}  // namespace

std::size_t BucketFrame::MaxBytes(std::size_t payloads, std::size_t payload_bytes) {
  return kFrameHeaderBytes + 1 + ListBytes(payloads) + payload_bytes;
}

// Payloads are first laid behind the room that a list of lengths would take; when no list is needed
// Seal moves them up. The common case moves at most a few hundred KiB.
BucketFrame::Writer::Writer(std::span<std::byte> frame, std::span<const std::size_t> most)
    : frame_(frame), most_(most), at_(kFrameHeaderBytes + 1 + ListBytes(most.size())) {
  lengths_.reserve(most.size());
}

std::span<std::byte> BucketFrame::Writer::Next() {
  // All together may be known to take less than the sum.
  return frame_.subspan(at_, std::min(most_[lengths_.size()], frame_.size() - at_));
}

void BucketFrame::Writer::Put(std::size_t bytes) {
  WEIR_CHECK(bytes <= most_[lengths_.size()]);
  WEIR_CHECK(bytes <= std::numeric_limits<std::uint32_t>::max());
  lengths_.push_back(static_cast<std::uint32_t>(bytes));
  at_ += bytes;
}

std::size_t BucketFrame::Writer::Seal(const Identity& identity) {
  WEIR_CHECK(lengths_.size() == most_.size());
  bool full = true;
  for (std::size_t i = 0; i < most_.size(); ++i) full = full && lengths_[i] == most_[i];
  const std::size_t first = kFrameHeaderBytes + 1 + ListBytes(most_.size());
  std::size_t bytes = at_;
  frame_[kFrameHeaderBytes] = static_cast<std::byte>(full ? Lengths::kMost : Lengths::kListed);
  if (full) {
    std::memmove(frame_.data() + kFrameHeaderBytes + 1, frame_.data() + first, at_ - first);
    bytes -= ListBytes(most_.size());
  } else {
    std::memcpy(frame_.data() + kFrameHeaderBytes + 1, lengths_.data(), ListBytes(most_.size()));
  }
  WriteFrameHeader(HeaderOf(identity, bytes - kFrameHeaderBytes), frame_);
  return bytes;
}

std::size_t BucketFrame::WriteEmpty(const Identity& identity, std::span<std::byte> frame) {
  WriteFrameHeader(HeaderOf(identity, 0), frame);
  return kFrameHeaderBytes;
}

void BucketFrame::Read(std::span<const std::byte> frame, const Identity& expected,
                       std::span<const std::size_t> most,
                       std::span<std::span<const std::byte>> payloads) {
  std::size_t most_bytes = 0;
  for (const std::size_t bytes : most) most_bytes += bytes;
  std::span<const std::byte> rest =
      ReadFrame(frame, {.codec = expected.codec,
                        .epoch = expected.epoch,
                        .bucket = expected.bucket,
                        .step = static_cast<std::uint64_t>(expected.step),
                        .elements = expected.elements,
                        .max_payload_bytes = 1 + ListBytes(most.size()) + most_bytes});
  if (rest.empty()) {  // A rank that has joined contributes nothing.
    for (auto& payload : payloads) payload = {};
    return;
  }
  const auto lengths = static_cast<Lengths>(rest.front());
  rest = rest.subspan(1);
  std::span<const std::byte> list;
  if (lengths == Lengths::kListed) {
    if (rest.size() < ListBytes(most.size())) throw Corrupt("its list of lengths is cut short");
    list = rest.first(ListBytes(most.size()));
    rest = rest.subspan(list.size());
  } else if (lengths != Lengths::kMost) {
    throw Corrupt("its lengths have the unknown form " + std::to_string(static_cast<int>(lengths)));
  }
  for (std::size_t i = 0; i < most.size(); ++i) {
    std::size_t bytes = most[i];
    if (!list.empty()) {
      std::uint32_t listed = 0;
      std::memcpy(&listed, list.data() + i * kLengthBytes, kLengthBytes);
      bytes = listed;
    }
    if (bytes > most[i] || bytes > rest.size()) {
      throw Corrupt("payload " + std::to_string(i) + " claims " + std::to_string(bytes) +
                    " bytes; at most " + std::to_string(std::min(most[i], rest.size())) +
                    " are possible");
    }
    payloads[i] = rest.first(bytes);
    rest = rest.subspan(bytes);
  }
  if (!rest.empty()) {
    throw Corrupt("it has " + std::to_string(rest.size()) + " bytes after its last payload");
  }
}

}  // namespace weir
