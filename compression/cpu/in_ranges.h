#pragma once

#include <algorithm>
#include <cstddef>

#include "common/threads/thread_pool.h"

namespace weir::cpu {

/// Calls work(begin, end) for ranges of up to `each` (above 0) that make up [0, n), shared out over
/// `pool`, which may be null. The ranges do not depend on the number of threads.
template <class Work>
void InRanges(std::size_t n, std::size_t each, ThreadPool* pool, const Work& work) {
  const auto range = [&](int number) {
    const std::size_t begin = static_cast<std::size_t>(number) * each;
    work(begin, std::min(begin + each, n));
  };
  const auto ranges = static_cast<int>((n + each - 1) / each);
  if (pool == nullptr) {
    for (int number = 0; number < ranges; ++number) range(number);
  } else {
    pool->ParallelFor(ranges, range);
  }
}

}  // namespace weir::cpu
