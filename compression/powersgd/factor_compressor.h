#pragma once

#include <cstddef>
#include <span>

#include "compression/compressor.h"

namespace weir {

/// What a compressor is beside (Compressor::factors) that sends a gradient as the product of two
/// factors, arrays of fp32 that an all-reduce sums: the second is made from the mean of the first,
/// so that a step takes two exchanges.
///
/// One step of a tensor is EncodeFirst, all-reduce of the first factor, EncodeSecond, all-reduce of
/// the second, Decode; Compressor::Revert takes it back, from wherever it stopped. The one-exchange
/// way of Compressor is there too. Not thread-safe.
class FactorCompressor {
 public:
  virtual ~FactorCompressor() = default;

  /// Lengths in floats, the same in all steps and on all ranks.
  virtual std::size_t first_size() const = 0;
  virtual std::size_t second_size() const = 0;

  /// Takes the local gradient into the memory, as Compressor::Encode does, and writes this rank's
  /// first factor.
  virtual void EncodeFirst(const StepContext& context, std::span<const float> gradient,
                           std::span<float> first) = 0;

  /// Writes this rank's second factor. `first` is what the all-reduce made of all ranks' first
  /// ones, the same bits on every rank.
  virtual void EncodeSecond(const StepContext& context, std::span<const float> first,
                            std::span<float> second) = 0;

  /// Writes what the combined factors stand for, the direction that the optimizer applies: the same
  /// bits on every rank.
  virtual void Decode(const StepContext& context, std::span<const float> second,
                      std::span<float> result) = 0;
};

}  // namespace weir
