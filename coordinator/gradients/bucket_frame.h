#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "compression/wire/codec_id.h"

namespace weir {

/// The frame of one bucket: the checked header (compression/wire/frame.h), then one payload for
/// each tensor of the bucket. docs/wire-format.md, "Bucket frame".
///
/// Most compressors fill exactly the size that every rank knows beforehand. Then one byte says so;
/// otherwise that byte is followed by the length of each payload.
class BucketFrame {
 public:
  /// Fields of a bucket's frame that all ranks know.
  struct Identity {
    std::uint32_t epoch = 0;
    std::int64_t step = 0;
    std::uint32_t bucket = 0;
    std::uint64_t elements = 0;
    CodecId codec = CodecId::kDense;
  };

  /// Returns the most bytes of a frame with this many payloads, of `payload_bytes` together.
  static std::size_t MaxBytes(std::size_t payloads, std::size_t payload_bytes);

  /// Lays payloads into `frame` one after the other, then seals it.
  class Writer {
   public:
    /// Takes the largest size of each payload i in `most[i]`. The spans outlive the writer.
    Writer(std::span<std::byte> frame, std::span<const std::size_t> most);
    /// Returns room for the next payload: most[i] bytes, or what is left of the frame.
    std::span<std::byte> Next();
    void Put(std::size_t bytes);
    /// Writes header and lengths. Returns the frame's size.
    std::size_t Seal(const Identity& identity);

   private:
    std::span<std::byte> frame_;
    std::span<const std::size_t> most_;
    std::vector<std::uint32_t> lengths_;
    std::size_t at_ = 0;
  };

  /// Writes the frame of a rank that contributes nothing. Returns its size.
  static std::size_t WriteEmpty(const Identity& identity, std::span<std::byte> frame);

  /// Checks a frame and finds its payloads. Throws Corrupt, which names the field.
  static void Read(std::span<const std::byte> frame, const Identity& expected,
                   std::span<const std::size_t> most,
                   std::span<std::span<const std::byte>> payloads);
};

}  // namespace weir
