#pragma once

#include <cstdint>
#include <span>

#include "common/threads/thread_pool.h"
#include "compression/codecs/level_math.h"
#include "compression/random/counter_random.h"

namespace weir::cpu {

/// The largest |value|; all must be finite. Thread-safe.
float LargestMagnitude(std::span<const float> values);

/// Rule that rounds values to levels -s to s of a scale.
struct DitherRule {
  float scale = 1.0f;    ///< Above 0; larger values count as the scale.
  int levels = 1;        ///< s, 1 to 127.
  bool natural = false;  ///< Levels 0, 2^(1-s), ..., 1/2, 1 of the scale; else 0, 1/s, ..., 1.
  bool nearest = false;  ///< Round to the nearer level, halves towards 0; else at random.
};

/// Source of an array's random numbers.
struct DitherSource {
  CounterRandom random;
  std::int64_t step = 0;
  int rank = 0;
};

/// levels[i] = values[i] rounded to one of the two levels beside it: at random, with the odds that
/// are right on average, or to the nearer one. Entry i of a step has its own random number, another
/// one on each rank: word i / 16 % 4 of block rank * 2^32 + i / 64 * 16 + i % 16, of which the
/// upper 24 bits count. So the result is the same for every thread count and instruction set.
/// `pool` may be null. Fewer than 2^32 values. Thread-safe.
void Dither(const DitherSource& source, const DitherRule& rule, std::span<const float> values,
            std::span<std::int8_t> levels, ThreadPool* pool = nullptr);

}  // namespace weir::cpu
