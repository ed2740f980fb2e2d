#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace weir::bench {

/// A codec for one tensor, or a compressor that is more than one. On one thread.
struct CodecCandidate {
  std::string name;
  std::size_t max_bytes = 0;  ///< Most bytes of a payload.
  /// Writes a payload, returns its size.
  std::function<std::size_t(std::span<const float>, std::span<std::byte>)> encode;
  /// result = the mean of this one payload.
  std::function<void(std::span<const std::byte>, std::span<float> result)> decode;
  /// sum += decoded. None if payloads are not contributions by themselves.
  std::function<void(std::span<const std::byte>, std::span<float> sum)> merge;
  /// For a payload that lists entries: their indices, ascending.
  std::function<std::vector<std::uint32_t>(std::span<const std::byte>)> indices;
  /// Held to 1 GB/s of input, except if it searches for a short code, or multiplies matrices.
  bool held = true;
};

/// Returns every codec and compressor, for `n` values, a multiple of 1,024; 1 % of the
/// entries if only some are sent.
std::vector<CodecCandidate> CodecCandidates(std::size_t n);

}  // namespace weir::bench
