#include "compression/codecs/topk.h"

#include <algorithm>
#include <memory>

#include "compression/codec_compressor.h"
#include "compression/codecs/select_top_k.h"
#include "compression/dgc/dgc_math.h"
#include "compression/options/registry.h"
#include "compression/options/standard_options.h"

namespace weir {
namespace {

std::unique_ptr<Compressor> MakeTopK(const ParsedOptions& options, const TensorSpec& tensor) {
  RequireSparseSize(tensor, "topk");
  return MakeCodecCompressor(
      std::make_unique<TopKCodec>(FixedCountOf(options), ValueTypeOf(options)), options, tensor);
}

const CompressorRegistration kTopK(
    {.name = "topk",
     .summary = "The k largest entries of each tensor.",
     .options = JoinSpecs({FamilySpecs(Payloads::kOfEntries), CountSpecs(), SelectionSpecs(),
                           ValueSpecs(), WarmupSpecs(), MemorySpecs(), StepSpecs()}),
     .make = MakeTopK,
     .codec = CodecId::kTopK,
     .caution = CautionOfLoss});

}  // namespace

std::optional<GpuCodecRule> TopKCodec::gpu_rule() const {
  if (IsLowBit(values())) return std::nullopt;
  return GpuCodecRule{
      .codec = GpuCodecRule::Codec::kTopK, .fixed_count = fixed_count_, .values = values()};
}

std::size_t TopKCodec::CountOf(std::size_t n, double density) const {
  return EntriesToSend(n, density, fixed_count_);
}

std::vector<std::uint32_t> TopKCodec::Select(std::span<const float> values,
                                             std::size_t most) const {
  return SelectTopK(values, most);
}

}  // namespace weir
