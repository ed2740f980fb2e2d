#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "compression/codec_compressor.h"
#include "compression/codecs/select_top_k.h"
#include "compression/codecs/sparse_codec.h"
#include "compression/dgc/dgc_math.h"
#include "compression/options/registry.h"
#include "compression/options/standard_options.h"
#include "weir/error.h"

namespace weir {
namespace {

/// Sends the entries above a fixed threshold (Strom 2015). Their number depends on the gradients,
/// so there is a limit, beyond which only the largest are sent.
class ThresholdCodec : public SparseCodec {
 public:
  ThresholdCodec(float threshold, double max_density, ValueType values)
      : SparseCodec(values), threshold_(threshold), max_density_(max_density) {}

 private:
  std::size_t CountOf(std::size_t n, double) const override {
    return EntriesToSend(n, max_density_);
  }

  std::vector<std::uint32_t> Select(std::span<const float> values,
                                    std::size_t most) const override {
    std::vector<std::uint32_t> indices;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (std::abs(values[i]) <= threshold_) continue;
      if (indices.size() == most) return SelectTopK(values, most);
      indices.push_back(static_cast<std::uint32_t>(i));
    }
    return indices;
  }

  float threshold_;
  double max_density_;
};

std::unique_ptr<Compressor> MakeThreshold(const ParsedOptions& options, const TensorSpec& tensor) {
  RequireSparseSize(tensor, "threshold");
  if (!options.Has("threshold")) {
    throw InvalidArgument(
        "compressor \"threshold\" needs the option \"threshold\": what is larger "
        "is sent");
  }
  return MakeCodecCompressor(
      std::make_unique<ThresholdCodec>(static_cast<float>(options.Real("threshold")),
                                       options.Real("max_density"), ValueTypeOf(options)),
      options, tensor);
}

std::vector<OptionSpec> ThresholdSpecs() {
  return {{"threshold", "", RealRule{0.0, 3e38, true}, "Entries of a larger magnitude are sent."},
          {"max_density", "0.1", RealRule{0.0, 1.0, true},
           "Largest fraction of entries sent; if more are above the threshold, only the largest "
           "are sent."}};
}

const CompressorRegistration kThreshold({.name = "threshold",
                                         .summary = "The entries above a fixed magnitude.",
                                         .options = JoinSpecs({FamilySpecs(Payloads::kOfEntries),
                                                               ThresholdSpecs(), ValueSpecs(),
                                                               MemorySpecs(), StepSpecs()}),
                                         .make = MakeThreshold,
                                         .codec = CodecId::kThreshold,
                                         .caution = CautionOfLoss});

}  // namespace
}  // namespace weir
