#include "coordinator/work/network_speed.h"

namespace weir {

void NetworkSpeed::Begin(std::int64_t now_ns, std::uint64_t sent_bytes) {
  if (under_way_++ > 0) return;
  from_ns_ = now_ns;
  from_bytes_ = sent_bytes;
}

void NetworkSpeed::End(std::int64_t now_ns, std::uint64_t sent_bytes) {
  --under_way_;
  ns_ += now_ns - from_ns_;
  bytes_ += sent_bytes - from_bytes_;
  from_ns_ = now_ns;
  from_bytes_ = sent_bytes;
  if (bytes_ < bounds_.least_bytes) return;
  fast_ = static_cast<double>(bytes_) * 8.0 >= bounds_.fast_bits_per_ns * static_cast<double>(ns_);
  ns_ = 0;
  bytes_ = 0;
}

}  // namespace weir
