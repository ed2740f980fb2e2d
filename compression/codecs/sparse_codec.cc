#include "compression/codecs/sparse_codec.h"

#include "compression/sparse_mean.h"

namespace weir {

std::size_t SparseCodec::MaxEncodedBytes(std::size_t n, double density) const {
  return SparsePayloadBytes(n, CountOf(n, density), values_);
}

SparseEntries SparseCodec::Take(const StepContext& context, std::span<const float> values) const {
  SparseEntries taken{Select(values, CountOf(values.size(), context.density)), {}};
  taken.values.reserve(taken.indices.size());
  for (const std::uint32_t index : taken.indices) taken.values.push_back(values[index]);
  return taken;
}

std::size_t SparseCodec::Encode(const StepContext& context, std::span<const float> values,
                                std::span<std::byte> payload) const {
  SparseEntries sent = Take(context, values);
  return EncodeSparse(values.size(), sent.indices, sent.values, values_, payload);
}

std::size_t SparseCodec::EncodeAndSubtract(const StepContext& context, std::span<float> rest,
                                           std::span<std::byte> payload) const {
  SparseEntries sent = Take(context, rest);
  const std::size_t size = EncodeSparse(rest.size(), sent.indices, sent.values, values_, payload);
  for (std::size_t i = 0; i < sent.indices.size(); ++i) rest[sent.indices[i]] -= sent.values[i];
  return size;
}

// The length of the frame was already checked against the step's density. Here any count up to n
// may be right, because a codec does not know the step.
SparseForm SparseCodec::FormOf(std::size_t n) const { return {n, CountOf(n, 1.0), values_}; }

void SparseCodec::Check(std::span<const std::byte> payload, std::size_t n) const {
  CheckSparse(payload, FormOf(n));
}

void SparseCodec::Merge(std::span<const std::byte> payload, std::span<float> sum) const {
  MergeSparse(payload, FormOf(sum.size()), sum);
}

void SparseCodec::MergeMean(std::span<const std::span<const std::byte>> payloads,
                            std::span<float> mean) const {
  MergeSparseMean(payloads, FormOf(mean.size()), mean);
}

void SparseCodec::Subtract(std::span<const std::byte> payload, std::span<float> rest) const {
  SubtractSparse(payload, FormOf(rest.size()), rest);
}

SparseEntries SparseCodec::Entries(std::span<const std::byte> payload, std::size_t n) const {
  return DecodeSparse(payload, FormOf(n));
}

}  // namespace weir
