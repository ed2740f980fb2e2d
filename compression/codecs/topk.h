#pragma once

#include "compression/codecs/sparse_codec.h"

namespace weir {

/// Sends the k largest |x| of a tensor, ties by lower index.
class TopKCodec : public SparseCodec {
 public:
  /// Sends `fixed_count` entries a tensor; when that is 0, the step's density of them.
  TopKCodec(std::size_t fixed_count, ValueType values)
      : SparseCodec(values), fixed_count_(fixed_count) {}

  std::optional<GpuCodecRule> gpu_rule() const override;

 private:
  std::size_t CountOf(std::size_t n, double density) const override;
  std::vector<std::uint32_t> Select(std::span<const float> values, std::size_t most) const override;

  std::size_t fixed_count_;
};

}  // namespace weir
