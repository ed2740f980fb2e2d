#include "compression/codecs/topk.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "compression/codec_compressor.h"
#include "compression/codecs/select_top_k.h"
#include "compression/dgc_math.h"
#include "compression/registry.h"
#include "compression/sparse_mean.h"
#include "compression/standard_options.h"

namespace weir {
namespace {

std::unique_ptr<Compressor> Make(const ParsedOptions& options, const TensorSpec& tensor) {
  RequireSparseSize(tensor, "topk");
  return MakeCodecCompressor(
      std::make_unique<TopKCodec>(FixedCountOf(options), ValueTypeOf(options)), options, tensor);
}

const CompressorRegistration kTopK({.name = "topk",
                                    .summary = "The k largest entries of each tensor.",
                                    .options = JoinSpecs({FamilySpecs(), CountSpecs(),
                                                          SelectionSpecs(), WarmupSpecs(),
                                                          MemorySpecs(), StepSpecs()}),
                                    .make = Make,
                                    .codec = CodecId::kTopK});

}  // namespace

TopKCodec::TopKCodec(std::size_t fixed_count, ValueType values)
    : fixed_count_(fixed_count), values_(values) {}

std::size_t TopKCodec::CountOf(std::size_t n, double density) const {
  return fixed_count_ == 0 ? EntriesToSend(n, density) : std::min(n, fixed_count_);
}

std::size_t TopKCodec::MaxEncodedBytes(std::size_t n, double density) const {
  return SparsePayloadBytes(n, CountOf(n, density), values_);
}

SparseEntries TopKCodec::Select(const StepContext& context, std::span<const float> values) const {
  SparseEntries largest{SelectTopK(values, CountOf(values.size(), context.density)), {}};
  largest.values.reserve(largest.indices.size());
  for (const std::uint32_t index : largest.indices) largest.values.push_back(values[index]);
  return largest;
}

std::size_t TopKCodec::Encode(const StepContext& context, std::span<const float> values,
                              std::span<std::byte> payload) const {
  SparseEntries sent = Select(context, values);
  return EncodeSparse(values.size(), sent.indices, sent.values, values_, payload);
}

std::size_t TopKCodec::EncodeAndSubtract(const StepContext& context, std::span<float> rest,
                                         std::span<std::byte> payload) const {
  SparseEntries sent = Select(context, rest);
  const std::size_t size = EncodeSparse(rest.size(), sent.indices, sent.values, values_, payload);
  for (std::size_t i = 0; i < sent.indices.size(); ++i) rest[sent.indices[i]] -= sent.values[i];
  return size;
}

// A frame's length was already checked against the step's density; here any count up to n can be
// right, because a codec does not know the step.
void TopKCodec::Check(std::span<const std::byte> payload, std::size_t n) const {
  CheckSparse(payload, n, CountOf(n, 1.0));
}

void TopKCodec::Merge(std::span<const std::byte> payload, std::span<float> sum) const {
  MergeSparse(payload, sum.size(), CountOf(sum.size(), 1.0), sum);
}

void TopKCodec::MergeMean(std::span<const std::span<const std::byte>> payloads,
                          std::span<float> mean) const {
  MergeSparseMean(payloads, CountOf(mean.size(), 1.0), mean);
}

void TopKCodec::Subtract(std::span<const std::byte> payload, std::span<float> rest) const {
  SubtractSparse(payload, rest.size(), CountOf(rest.size(), 1.0), rest);
}

}  // namespace weir
