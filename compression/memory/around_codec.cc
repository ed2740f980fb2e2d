#include "compression/memory/around_codec.h"

#include "common/check.h"

namespace weir {

std::size_t AroundCodec::MaxEncodedBytes(double density) const {
  return codec_->MaxEncodedBytes(n_, density);
}

void AroundCodec::Check(std::span<const std::byte> payload) const {
  if (!payload.empty()) codec_->Check(payload, n_);
}

void AroundCodec::Merge(std::span<const std::byte> payload, std::span<float> sum) const {
  WEIR_CHECK(sum.size() == n_);
  if (!payload.empty()) codec_->Merge(payload, sum);
}

void AroundCodec::MergeMean(std::span<const std::span<const std::byte>> payloads,
                            std::span<float> mean) const {
  WEIR_CHECK(mean.size() == n_);
  codec_->MergeMean(payloads, mean);
}

SparseEntries AroundCodec::Entries(std::span<const std::byte> payload) const {
  return payload.empty() ? SparseEntries() : codec_->Entries(payload, n_);
}

}  // namespace weir
