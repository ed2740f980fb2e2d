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

std::vector<OptionSpec> CountSpecs() {
  return {{"k", "", CountOrFractionRule{},
           "Entries sent: a count for every tensor, or a fraction (the same as density)."}};
}

std::unique_ptr<Compressor> Make(const ParsedOptions& options, const TensorSpec& tensor) {
  RequireSparseSize(tensor, "topk");
  const bool fixed = options.Has("k") && options.Real("k") >= 1.0;
  if (fixed) {
    for (const char* key : {"warmup_steps", "rampup_step"}) {
      if (options.Given(key)) options.Refuse(key, "needs a density, but \"k\" is a count");
    }
  }
  const std::size_t count = fixed ? static_cast<std::size_t>(options.Real("k")) : 0;
  return MakeCodecCompressor(std::make_unique<TopKCodec>(count, ValueTypeOf(options)), options,
                             tensor);
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

std::size_t TopKCodec::Encode(const StepContext& context, std::span<const float> values,
                              std::span<std::byte> payload) const {
  const std::vector<std::uint32_t> indices =
      SelectTopK(values, CountOf(values.size(), context.density));
  std::vector<float> selected;
  selected.reserve(indices.size());
  for (const std::uint32_t index : indices) selected.push_back(values[index]);
  return EncodeSparse(values.size(), indices, selected, values_, payload);
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
