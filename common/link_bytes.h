#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace weir {

/// Between which places a message travels.
enum class Link : std::uint8_t {
  kIntra,    ///< Two ranks of one host, or a rank and itself.
  kInter,    ///< Two hosts.
  kUnknown,  ///< Nobody has told which processes share a host.
};
inline constexpr int kLinkCount = 3;

/// Bytes of messages that have completed, by Link. Any thread may read; relaxed, so that nothing is
/// ordered by it.
struct LinkBytes {
  std::array<std::atomic<std::uint64_t>, kLinkCount> sent{};
  std::array<std::atomic<std::uint64_t>, kLinkCount> received{};

  std::uint64_t total_sent() const {
    std::uint64_t total = 0;
    for (const auto& bytes : sent) total += bytes.load(std::memory_order_relaxed);
    return total;
  }
};

}  // namespace weir
