#include "coordinator/network_speed.h"

namespace weir {

void NetworkSpeed::Begin(std::int64_t now_ns, std::uint64_t sent_bytes) {
  if (under_way_++ > 0) return;
  from_ns_ = now_ns;
  from_bytes_ = sent_bytes;
}

void NetworkSpeed::End(std::int64_t now_ns, std::uint64_t sent_bytes) {
  --under_way_;
  const std::uint64_t bytes = sent_bytes - from_bytes_;
  if (bytes < kLeastBytes) return;
  fast_ =
      static_cast<double>(bytes) * 8.0 >= kFastBitsPerNs * static_cast<double>(now_ns - from_ns_);
  from_ns_ = now_ns;
  from_bytes_ = sent_bytes;
}

}  // namespace weir
