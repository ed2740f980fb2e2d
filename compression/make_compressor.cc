#include "compression/make_compressor.h"

#include "common/check.h"

namespace weir {

std::unique_ptr<Compressor> MakeCompressor(const ParsedOptions& options, const TensorSpec& tensor) {
  auto compressor = FindCompressor(options.compressor()).make(options, tensor);
  WEIR_CHECK(compressor != nullptr);
  return compressor;
}

std::unique_ptr<Compressor> MakeCompressor(const CompressionOptions& options,
                                           const TensorSpec& tensor) {
  return MakeCompressor(ParseOptions(options), tensor);
}

}  // namespace weir
