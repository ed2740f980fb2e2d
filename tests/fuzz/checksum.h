#pragma once

#include <xxhash.h>

#include "compression/wire/frame.h"
#include "tests/fuzz/fuzz_target.h"

namespace weir::fuzz {

/// Returns the frame with a correct checksum: with a random one, decoding would end
/// at the comparison of checksums.
inline Bytes WithItsChecksum(std::span<const std::byte> bytes) {
  Bytes frame(bytes.begin(), bytes.end());
  if (frame.size() < kFrameHeaderBytes) return frame;
  constexpr std::size_t kChecksumAt = kFrameHeaderBytes - sizeof(std::uint64_t);
  Bytes covered(frame.begin(), frame.begin() + kChecksumAt);
  covered.insert(covered.end(), frame.begin() + kFrameHeaderBytes, frame.end());
  StoreLittleEndian(frame.data() + kChecksumAt,
                    std::uint64_t{XXH3_64bits(covered.data(), covered.size())});
  return frame;
}

/// Gives the frame its checksum in three cases of four, by the input's next number.
inline Bytes FrameFrom(Input& input) {
  const bool mend = input.Number(3) != 0;
  const auto rest = input.Rest();
  return mend ? WithItsChecksum(rest) : Bytes(rest.begin(), rest.end());
}

}  // namespace weir::fuzz
