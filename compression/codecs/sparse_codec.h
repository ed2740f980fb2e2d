#pragma once

#include <cstdint>
#include <vector>

#include "compression/codec.h"
#include "compression/wire/sparse_payload.h"

namespace weir {

/// A codec that sends some entries of a tensor with their indices, as a sparse part
/// (docs/wire-format.md), and decodes to zeros elsewhere. Subclasses choose the entries.
class SparseCodec : public Codec {
 public:
  std::size_t MaxEncodedBytes(std::size_t n, double density) const override;
  std::size_t Encode(const StepContext& context, std::span<const float> values,
                     std::span<std::byte> payload) const override;
  std::size_t EncodeAndSubtract(const StepContext& context, std::span<float> rest,
                                std::span<std::byte> payload) const override;
  void Check(std::span<const std::byte> payload, std::size_t n) const override;
  void Merge(std::span<const std::byte> payload, std::span<float> sum) const override;
  void MergeMean(std::span<const std::span<const std::byte>> payloads,
                 std::span<float> mean) const override;
  std::optional<ValueType> entry_values() const override { return EntryValues(values_); }
  SparseEntries Entries(std::span<const std::byte> payload, std::size_t n) const override;
  std::optional<std::size_t> EntriesIn(std::span<const std::byte> payload,
                                       std::size_t /*n*/) const override {
    return SparseEntryCount(payload);
  }
  void Subtract(std::span<const std::byte> payload, std::span<float> rest) const override;

 protected:
  explicit SparseCodec(ValueType values) : values_(values) {}

  ValueType values() const { return values_; }

  /// Largest number of n entries that are sent.
  virtual std::size_t CountOf(std::size_t n, double density) const = 0;
  /// Returns the indices, ascending; at most `most` of them.
  virtual std::vector<std::uint32_t> Select(std::span<const float> values,
                                            std::size_t most) const = 0;

 private:
  SparseForm FormOf(std::size_t n) const;
  SparseEntries Take(const StepContext& context, std::span<const float> values) const;

  ValueType values_;
};

}  // namespace weir
