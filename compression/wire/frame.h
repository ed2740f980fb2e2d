#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "compression/wire/codec_id.h"
#include "weir/dtype.h"

namespace weir {

/// The header of every frame, docs/wire-format.md, "Frame": 48 bytes, little-endian, before the
/// payload. Its checksum covers the header's other fields and the payload.
struct FrameHeader {
  CodecId codec =
      CodecId::kDense;            ///< Kind of the payload: a CodecId (compression/wire/codec_id.h).
  DType dtype = DType::kFloat32;  ///< Encoded type: gradients are compressed as fp32.
  std::uint32_t epoch = 0;        ///< Epoch of the plan that shaped the bucket.
  std::uint32_t bucket = 0;
  std::uint64_t step = 0;
  std::uint64_t elements = 0;       ///< In all tensors of the bucket.
  std::uint64_t payload_bytes = 0;  ///< 0: this rank contributes nothing (it has joined).

  friend bool operator==(const FrameHeader&, const FrameHeader&) = default;
};

inline constexpr std::size_t kFrameHeaderBytes = 48;
inline constexpr std::uint8_t kFrameVersion = 1;

/// The receiver's knowledge about a frame before it arrives.
struct FrameExpectation {
  CodecId codec = CodecId::kDense;
  DType dtype = DType::kFloat32;
  std::uint32_t epoch = 0;
  std::uint32_t bucket = 0;
  std::uint64_t step = 0;
  std::uint64_t elements = 0;
  std::size_t max_payload_bytes = 0;  ///< Sum of the tensors' MaxEncodedBytes.
};

/// Writes the header into the first kFrameHeaderBytes of `frame`; the payload, header.payload_bytes
/// of it, must already follow. Pure, thread-safe.
void WriteFrameHeader(const FrameHeader& header, std::span<std::byte> frame);

/// Checks one whole frame and returns its payload, a part of `frame`. Throws Corrupt that names the
/// field, the value found and the one expected. Compares every length with what the receiver knows
/// before using it. Pure, thread-safe.
std::span<const std::byte> ReadFrame(std::span<const std::byte> frame,
                                     const FrameExpectation& expected);

/// Reads the fields of a header, for tools that look at frames without knowing what to expect.
/// Checks magic, version, dtype and length, not the checksum. Throws Corrupt.
FrameHeader PeekFrameHeader(std::span<const std::byte> frame);

}  // namespace weir
