#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "common/threads/thread_pool.h"
#include "compression/error_step.h"

namespace weir::cpu {

/// 32 signs a word, little-endian and not aligned. Entry i has bit i % 32 of word i / 32, 1 for
/// values below 0, so both zeros count as positive. Unused bits of the last word are 0.
constexpr std::size_t SignWords(std::size_t n) { return (n + 31) / 32; }

/// Writes the signs of all finite `values` into SignWords(values.size()) words. Returns the sum of
/// their magnitudes, within 2^-22 of it. The order of additions is fixed, so the sum is the same
/// for every thread count and instruction set. `pool` may be null. Thread-safe.
double PackSigns(std::span<const float> values, std::byte* words, ThreadPool* pool = nullptr);

/// Take(step, error) and PackSigns of the error in one pass, with the same bits.
struct TakenSigns {
  double sum = 0.0;
  std::uint32_t non_finite = 0;
};
TakenSigns TakeAndPackSigns(const ErrorStep& step, std::span<float> error, std::byte* words,
                            ThreadPool* pool = nullptr);

/// One array of signs and the magnitude that each stands for: +magnitude or -magnitude.
struct ScaledSigns {
  const std::byte* words = nullptr;  ///< SignWords(n) of them.
  float magnitude = 0.0f;
};

/// sum[i] += the value of sign i. Thread-safe.
void AddSigns(const ScaledSigns& signs, std::span<float> sum);

/// mean[i] = (0 + sign i of the first + sign i of the second ...) / ranks,
/// added in this order. Thread-safe.
void MeanOfSigns(std::span<const ScaledSigns> parts, std::size_t ranks, std::span<float> mean);

}  // namespace weir::cpu
