#include <memory>
#include <string>

#include "compression/dense_momentum.h"
#include "compression/dgc.h"
#include "compression/registry.h"
#include "compression/standard_options.h"

/// "dgc" in the dictionary of options.
namespace weir {
namespace {

std::vector<OptionSpec> DgcSpecs() {
  return {
      {"momentum", "vanilla", ChoiceRule{{"none", "vanilla", "nesterov"}},
       "Momentum correction: which recursion runs before compression. An optimizer puts its own "
       "momentum here; give it once, there or here."},
      {"momentum_mu", "0.9", RealRule{0.0, 1.0, false, true}, "The momentum coefficient."},
      {"momentum_masking", "true", FlagRule{},
       "Drop the momentum of entries that were just sent (momentum factor masking)."},
      {"gain_compensation", "false", FlagRule{},
       "Divide the update by the gain that masking leaves at the step's density."},
  };
}

Momentum MomentumOf(const ParsedOptions& options) {
  const std::string& name = options.Choice("momentum");
  if (name == "none") return Momentum::kNone;
  return name == "nesterov" ? Momentum::kNesterov : Momentum::kVanilla;
}

std::unique_ptr<Compressor> Make(const ParsedOptions& options, const TensorSpec& tensor) {
  const std::size_t n = tensor.elements();
  const DgcSettings settings{
      .rule = {.momentum = MomentumOf(options),
               .m = static_cast<float>(options.Real("momentum_mu")),
               .masking = options.Flag("momentum_masking")},
      .values = ValueTypeOf(options),
      .gain_compensation = options.Flag("gain_compensation"),
  };
  if (n == 0 || tensor.shape.rank() <= 1 || n < MinElementsOf(options)) {
    return std::make_unique<DenseMomentum>(settings.rule.momentum, settings.rule.m, settings.values,
                                           n);
  }
  RequireSparseSize(tensor, "dgc");
  return std::make_unique<Dgc>(settings, n);
}

const CompressorRegistration kRegistration(
    {"dgc",
     "Deep Gradient Compression: the largest accumulated velocities travel, with momentum "
     "correction and momentum factor masking.",
     JoinSpecs({CommonSpecs(Payloads::kOfEntries), SelectionSpecs(), ValueSpecs(), WarmupSpecs(),
                StepSpecs(), WeightDecaySpecs(), DgcSpecs()}),
     Make, CodecId::kDgc});

}  // namespace
}  // namespace weir
