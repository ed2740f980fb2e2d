#include <memory>

#include "compression/codec_compressor.h"
#include "compression/codecs/quantizer.h"
#include "compression/options/registry.h"
#include "compression/options/standard_options.h"

namespace weir {
namespace {

std::unique_ptr<Compressor> MakeQuant3(const ParsedOptions& options, const TensorSpec& tensor) {
  RequireSparseSize(tensor, "quant3");
  const QuantizerCodec::Rule rule{
      .levels = 3, .rounding = QuantizerCodec::Rounding::kNearest, .form = LevelForm::kPacked};
  return MakeCodecCompressor(std::make_unique<QuantizerCodec>(CounterRandom(0, tensor.name), rule),
                             options, tensor);
}

const CompressorRegistration kQuant3(
    {.name = "quant3",
     .summary = "Every entry to the nearest of seven levels, in 3 bits (PipeCompress, ICC 2022).",
     .options = JoinSpecs({FamilySpecs(), MemorySpecs(), StepSpecs()}),
     .make = MakeQuant3,
     .codec = CodecId::kQuant3});

}  // namespace
}  // namespace weir
