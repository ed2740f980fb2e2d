#pragma once

#include <cstddef>
#include <span>

#include "common/threads/thread_pool.h"

namespace weir::bench {

/// a = b + 3 c, the memory-bandwidth yardstick of STREAM, counted as 12 bytes an element. With
/// ordinary stores a is read before it is written, so 16 bytes move; non-temporal stores move just
/// the 12, which makes them the harder yardstick. The arrays are aligned to 64 bytes.
void Triad(std::span<float> a, std::span<const float> b, std::span<const float> c,
           ThreadPool& pool);
void TriadNonTemporal(std::span<float> a, std::span<const float> b, std::span<const float> c,
                      ThreadPool& pool);

inline constexpr double kTriadBytes = 12;

}  // namespace weir::bench
