#include "compression/options/answer_options.h"

#include <algorithm>

#include "compression/options/registry.h"

namespace weir {

CompressionOptions AnswerOptions(const CompressionOptions& workers) {
  CompressionOptions options = WithoutPrefix(workers);
  for (const char* done :
       {"momentum", "momentum_mu", "momentum_masking", "beta1", "beta2", "epsilon",
        "gain_compensation", "look_ahead", "unbiased", "alternatives"}) {
    options.erase(done);
  }
  const CompressorInfo& info = FindCompressor(options.at("compressor"));
  const bool has_momentum =
      std::ranges::find(info.options, "momentum", &OptionSpec::key) != info.options.end();
  if (has_momentum) options["momentum"] = "none";  // The default of dgc is not "none".
  return options;
}

}  // namespace weir
