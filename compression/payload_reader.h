#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "compression/wire/sparse_payload.h"
#include "weir/dtype.h"

namespace weir {

/// Reads the payloads of one tensor: checks them, decodes them and adds them up. Any rank or server
/// can, whatever its own memory is. Thread-safe.
class PayloadReader {
 public:
  virtual ~PayloadReader() = default;

  /// Upper bound of a payload's bytes at this density, known beforehand, equal on all ranks.
  virtual std::size_t MaxEncodedBytes(double density) const = 0;

  /// Throws Corrupt if the payload is not one that Encode of this tensor could have written: every
  /// length and index is bounded by what this rank knows.
  virtual void Check(std::span<const std::byte> payload) const = 0;

  /// sum += decoded payload. Touches only what the payload names. Throws as Check does, with sum
  /// unchanged. An empty payload contributes nothing.
  virtual void Merge(std::span<const std::byte> payload, std::span<float> sum) const = 0;

  /// mean = the mean of what the payloads of all ranks, in rank order, decode to. The same bits as
  /// Merge of each into zeros and a division by their number, which is what the default does.
  /// Throws as Check does; call that first where `mean` must stay as it is.
  virtual void MergeMean(std::span<const std::span<const std::byte>> payloads,
                         std::span<float> mean) const;

  /// Set when payloads are plain arrays of this type that may be summed by an all-reduce instead of
  /// gathered and merged (dense, fp16, bf16).
  virtual std::optional<DType> summable() const { return std::nullopt; }

  /// Set when a payload is a list of entries which a route may divide by index (topk, dgc), to the
  /// type that holds their values however they are divided. Not with low-bit values.
  virtual std::optional<ValueType> entry_values() const { return std::nullopt; }
  /// The entries of a payload, everything else being zero; none of an empty one. Throws as Check
  /// does. Only where entry_values() is set.
  virtual SparseEntries Entries(std::span<const std::byte> payload) const;
  /// How many entries of the tensor a payload of its own holds; nothing when that is all of them.
  /// For monitoring.
  virtual std::optional<std::size_t> EntriesIn(std::span<const std::byte> payload) const;
};

}  // namespace weir
