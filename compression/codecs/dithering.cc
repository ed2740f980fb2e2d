#include <memory>

#include "compression/codec_compressor.h"
#include "compression/codecs/quantizer.h"
#include "compression/options/registry.h"
#include "compression/options/standard_options.h"

namespace weir {
namespace {

using Q = QuantizerCodec;

std::unique_ptr<Compressor> MakeDithering(const ParsedOptions& options, const TensorSpec& tensor) {
  RequireSparseSize(tensor, "dithering");
  const Q::Rule rule{
      .levels = static_cast<int>(options.Integer("k")),
      .spacing =
          options.Choice("partition") == "natural" ? Q::Spacing::kPowersOfTwo : Q::Spacing::kLinear,
      .scale = options.Choice("normalize") == "l2" ? Q::Scale::kNorm : Q::Scale::kLargest,
      .form = options.Choice("coding") == "packed" ? LevelForm::kPacked : LevelForm::kShorter};
  return MakeCodecCompressor(std::make_unique<Q>(RandomOf(options, tensor), rule), options, tensor);
}

const CompressorRegistration kDithering(
    {.name = "dithering",
     .summary = "Every entry, rounded at random to one of a few levels, right on average.",
     .options =
         JoinSpecs({FamilySpecs(),
                    SeedSpecs(),
                    {{"k", "7", IntegerRule{1, kMostLevels},
                      "Levels above 0; 1, 3, 7, 15, ... fill 2, 3, 4, 5, ... bits an entry."},
                     {"partition", "linear", ChoiceRule{{"linear", "natural"}},
                      "Spaces levels evenly, or at powers of two."},
                     {"normalize", "max", ChoiceRule{{"max", "l2"}},
                      "Sets the highest level to the largest magnitude, or to the L2 norm."},
                     {"coding", "shorter", ChoiceRule{{"shorter", "packed"}},
                      "Codes every 4,096 levels in the shorter of two ways, or all levels in "
                      "equally many bits, which is faster."}},
                    MemorySpecs(),
                    StepSpecs()}),
     .make = MakeDithering,
     .codec = CodecId::kDithering});

}  // namespace
}  // namespace weir
