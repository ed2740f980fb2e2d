#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "compression/compressor.h"
#include "compression/error_step.h"
#include "weir/dtype.h"

namespace weir {

/// Turns numbers into bytes and back, without memory: the bytes that one tensor's compressor sends.
/// Made for one tensor (a random codec needs its name) but without mutable state, so thread-safe.
/// Compressors (compression/memory/) put memory around it.
class Codec {
 public:
  virtual ~Codec() = default;

  /// Upper bound of Encode's bytes for n values, equal on all ranks.
  virtual std::size_t MaxEncodedBytes(std::size_t n, double density) const = 0;

  /// Writes `values`, all finite, and returns the bytes written. May use the
  /// context's step, density, rank and pool.
  virtual std::size_t Encode(const StepContext& context, std::span<const float> values,
                             std::span<std::byte> payload) const = 0;

  /// Encodes `rest`, then subtracts the decoded payload from it. Default: Encode and Subtract.
  virtual std::size_t EncodeAndSubtract(const StepContext& context, std::span<float> rest,
                                        std::span<std::byte> payload) const;

  struct Fed {
    std::size_t bytes = 0;
    std::uint32_t non_finite = 0;  ///< See Take.
  };
  /// Error feedback in one call: Take(step, error), then EncodeAndSubtract of the error. The
  /// default makes these two calls; every override must give the same bits.
  virtual Fed EncodeWithFeedback(const StepContext& context, const ErrorStep& step,
                                 std::span<float> error, std::span<std::byte> payload) const;

  /// Throws Corrupt for a payload that Encode cannot have written for n values.
  virtual void Check(std::span<const std::byte> payload, std::size_t n) const = 0;

  /// sum += decoded. Throws as Check does, with `sum` unchanged.
  virtual void Merge(std::span<const std::byte> payload, std::span<float> sum) const = 0;

  /// mean = the mean of the decoded payloads, in their order; an empty one counts as zeros. Gives
  /// the same bits as Merge of each into zeros and a division by their number, which is the
  /// default. Throws as Check does.
  virtual void MergeMean(std::span<const std::span<const std::byte>> payloads,
                         std::span<float> mean) const;

  /// rest -= decoded, which leaves what was not sent. Throws as Merge does.
  virtual void Subtract(std::span<const std::byte> payload, std::span<float> rest) const = 0;

  /// See Compressor::entry_values.
  virtual std::optional<ValueType> entry_values() const { return std::nullopt; }
  /// See Compressor::Entries. Throws as Check does.
  virtual SparseEntries Entries(std::span<const std::byte> payload, std::size_t n) const;

  /// See Compressor::EntriesIn, for n values.
  virtual std::optional<std::size_t> EntriesIn(std::span<const std::byte> payload,
                                               std::size_t n) const;

  /// See Compressor::summable.
  virtual std::optional<DType> summable() const { return std::nullopt; }

  /// Set if kernels can do this codec's work, without a memory.
  virtual std::optional<GpuCodecRule> gpu_rule() const { return std::nullopt; }
};

}  // namespace weir
