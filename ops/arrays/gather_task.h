#pragma once

#include <cstddef>
#include <cstring>
#include <span>

namespace weir {

/// The buffers of one all-gather on one rank. Rank r contributes the bytes offsets[r] up to
/// offsets[r + 1] of `out`. This rank's bytes are `in`, which may already be at their place and
/// otherwise does not overlap `out`. All of it stays valid until the run is over.
struct GatherTask {
  std::span<const std::byte> in;
  std::span<std::byte> out;
  std::span<const std::size_t> offsets;

  std::span<std::byte> PartOf(int rank) const {
    const auto r = static_cast<std::size_t>(rank);
    return out.subspan(offsets[r], offsets[r + 1] - offsets[r]);
  }
  /// Copies this rank's own bytes to their place.
  void CopyOwn(int self) const {
    std::byte* own = PartOf(self).data();
    if (own != in.data() && !in.empty()) std::memcpy(own, in.data(), in.size());
  }
};

}  // namespace weir
