#pragma once

#include <cstddef>
#include <span>

#include "compression/compressor.h"

namespace weir {

/// Additional interface (Compressor::factors) of a compressor that sends a gradient as the product
/// of two factors, arrays of fp32 that an all-reduce sums. The second factor is made from the mean
/// of the first, so a step takes two exchanges.
///
/// A step of a tensor is EncodeFirst, all-reduce of the first factor, EncodeSecond, all-reduce of
/// the second, Decode; Compressor::Revert takes it back from wherever it stopped. Compressor's
/// single exchange works too. Not thread-safe.
class FactorCompressor {
 public:
  virtual ~FactorCompressor() = default;

  /// Lengths in floats, the same in all steps and on all ranks.
  virtual std::size_t first_size() const = 0;
  virtual std::size_t second_size() const = 0;

  /// Adds the local gradient to the memory, as Compressor::Encode does, and
  /// writes this rank's first factor.
  virtual void EncodeFirst(const StepContext& context, std::span<const float> gradient,
                           std::span<float> first) = 0;

  /// Writes this rank's second factor. `first` is the all-reduced first
  /// factor, the same bits on every rank.
  virtual void EncodeSecond(const StepContext& context, std::span<const float> first,
                            std::span<float> second) = 0;

  /// Writes the product of the combined factors, the direction that the optimizer
  /// applies: the same bits on every rank.
  virtual void Decode(const StepContext& context, std::span<const float> second,
                      std::span<float> result) = 0;
};

}  // namespace weir
