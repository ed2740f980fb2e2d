#pragma once

#include <memory>
#include <utility>

#include "compression/codec.h"
#include "compression/compressor.h"

namespace weir {

/// Common part of every memory around a codec of n entries: it leaves the payloads to the codec. An
/// empty payload contributes nothing.
class AroundCodec : public Compressor {
 public:
  AroundCodec(std::unique_ptr<const Codec> codec, std::size_t n)
      : codec_(std::move(codec)), n_(n) {}

  std::size_t MaxEncodedBytes(double density) const override;
  void Check(std::span<const std::byte> payload) const override;
  void Merge(std::span<const std::byte> payload, std::span<float> sum) const override;
  void MergeMean(std::span<const std::span<const std::byte>> payloads,
                 std::span<float> mean) const override;
  std::optional<DType> summable() const override { return codec_->summable(); }
  std::optional<ValueType> entry_values() const override { return codec_->entry_values(); }
  SparseEntries Entries(std::span<const std::byte> payload) const override;
  std::optional<std::size_t> EntriesIn(std::span<const std::byte> payload) const override {
    return codec_->EntriesIn(payload, n_);
  }
  std::uint64_t non_finite_entries() const override { return non_finite_; }

 protected:
  const Codec& codec() const { return *codec_; }
  std::size_t size() const { return n_; }
  void CountNonFinite(std::uint32_t entries) { non_finite_ += entries; }

 private:
  std::unique_ptr<const Codec> codec_;
  std::size_t n_;
  std::uint64_t non_finite_ = 0;
};

}  // namespace weir
