#include <memory>

#include "compression/codec_compressor.h"
#include "compression/codecs/quantizer.h"
#include "compression/options/registry.h"
#include "compression/options/standard_options.h"

namespace weir {
namespace {

using Q = QuantizerCodec;

std::unique_ptr<Compressor> MakeTernGrad(const ParsedOptions& options, const TensorSpec& tensor) {
  RequireSparseSize(tensor, "terngrad");
  const double deviations = options.Real("clip_deviations");
  const Q::Rule rule{.levels = 1,
                     .scale = deviations > 0 ? Q::Scale::kClipped : Q::Scale::kLargest,
                     .deviations = deviations,
                     .form = LevelForm::kPacked};
  return MakeCodecCompressor(std::make_unique<Q>(RandomOf(options, tensor), rule), options, tensor);
}

const CompressorRegistration kTernGrad(
    {.name = "terngrad",
     .summary = "-1, 0 or 1 times a scale for each entry, at random (Wen et al. 2017): 2 bits.",
     .options = JoinSpecs({FamilySpecs(),
                           SeedSpecs(),
                           {{"clip_deviations", "2.5", RealRule{0.0, 1e6},
                             "Cuts entries at so many standard deviations; 0: cuts none."}},
                           MemorySpecs(),
                           StepSpecs()}),
     .make = MakeTernGrad,
     .codec = CodecId::kTernGrad});

}  // namespace
}  // namespace weir
