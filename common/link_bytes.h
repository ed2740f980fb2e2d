#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace weir {

/// The two ends of a message.
enum class Link : std::uint8_t {
  kIntra,    ///< Two ranks of one host, or a rank and itself.
  kInter,    ///< Two hosts.
  kUnknown,  ///< Unknown which processes share a host.
};
inline constexpr int kLinkCount = 3;

/// Bytes of completed messages, by Link. Any thread may read.
/// Relaxed: reading orders nothing else.
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
