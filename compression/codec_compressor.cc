#include "compression/codec_compressor.h"

#include <utility>

#include "compression/codecs/cast.h"
#include "compression/memory/error_feedback.h"
#include "compression/memory/nesterov_momentum.h"
#include "compression/memory/no_memory.h"
#include "compression/options/standard_options.h"

namespace weir {

std::unique_ptr<Compressor> MakeCodecCompressor(std::unique_ptr<const Codec> codec,
                                                const ParsedOptions& options,
                                                const TensorSpec& tensor) {
  const std::size_t n = tensor.elements();
  bool feedback = options.Choice("ef") == "vanilla";
  // A codec whose payloads an all-reduce can sum keeps small tensors too: without, they would force
  // the whole bucket off that route.
  if (n < MinElementsOf(options) && !codec->summable()) {
    codec = std::make_unique<CastCodec>(DType::kFloat32);
    feedback = false;  // Nothing is left over to feed back.
  }
  std::unique_ptr<Compressor> compressor;
  if (feedback) {
    compressor = std::make_unique<ErrorFeedback>(std::move(codec), n);
  } else {
    compressor = std::make_unique<NoMemory>(std::move(codec), n);
  }
  if (options.Choice("momentum") != "nesterov") {
    if (options.Given("momentum_mu")) {
      options.Refuse("momentum_mu", "has no effect without \"momentum\" = \"nesterov\"");
    }
    return compressor;
  }
  if (!options.Given("momentum_mu")) {
    options.Refuse("momentum", "needs \"momentum_mu\", the momentum coefficient");
  }
  return std::make_unique<NesterovMomentum>(std::move(compressor), n,
                                            static_cast<float>(options.Real("momentum_mu")));
}

}  // namespace weir
