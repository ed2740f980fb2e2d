#include <limits>
#include <memory>
#include <optional>
#include <string>

#include "compression/dgc/dense_momentum.h"
#include "compression/dgc/dgc.h"
#include "compression/options/alternatives.h"
#include "compression/options/registry.h"
#include "compression/options/standard_options.h"
#include "compression/random/counter_random.h"

/// The options of "dgc".
namespace weir {
namespace {

std::vector<OptionSpec> DgcSpecs() {
  return {
      {"momentum", "vanilla", ChoiceRule{{"none", "vanilla", "nesterov", "adam"}},
       "Recursion of momentum correction, which runs before compression. An optimizer moves its "
       "own momentum here: give it once, there or here. adam: what accumulates and is sent is the "
       "step that Adam would take on this rank, learning rate included."},
      {"momentum_mu", "0.9", RealRule{0.0, 1.0, false, true}, "Momentum coefficient."},
      {"momentum_masking", "auto", FlagOrChoiceRule{{"ratio", "flush", "auto"}},
       "What becomes of the momentum of entries that were just sent: it is kept, and entries are "
       "selected by what they lead to with it (auto); it is dropped (true, the paper's momentum "
       "factor masking), kept (false), kept by the part that they did not wait for (ratio), or "
       "sent with them, all that it would still give (flush). With gain_compensation true is "
       "meant."},
      {"beta1", "0.9", RealRule{0.0, 1.0, false, true},
       "Decay rate of the first moment with momentum=adam; an Adam optimizer's is taken over."},
      {"beta2", "0.999", RealRule{0.0, 1.0, false, true},
       "Decay rate of the second moment with momentum=adam."},
      {"epsilon", "1e-8", RealRule{0.0, std::numeric_limits<double>::infinity()},
       "Number added to the root of the second moment with momentum=adam."},
      {"gain_compensation", "false", FlagRule{},
       "Divides the update by the gain that masking leaves at the step's density."},
      {"look_ahead", "0", RealRule{0.0, 1.0},
       "Takes gradients at the weights minus this fraction of learning rate / ranks times what the "
       "rank has not sent yet; needs an optimizer."},
      {"selection", "tensor", ChoiceRule{{"tensor", "bucket"}},
       "Selects the largest entries of each tensor by itself, or of all compressed tensors of a "
       "bucket together, at least one of each; a bucket then holds as many tensors as "
       "WEIR_FUSION_THRESHOLD allows."},
      {"state_dtype", "fp32", ChoiceRule{{"fp32", "bf16"}},
       "Type in which a tensor's momentum and velocity are kept. bf16, rounded at random, takes "
       "half the memory on a GPU; the CPU rounds to the same bits, but saves no memory."},
  };
}

Momentum MomentumOf(const ParsedOptions& options) {
  const std::string& name = options.Choice("momentum");
  if (name == "none" || name == "adam") return Momentum::kNone;
  return name == "nesterov" ? Momentum::kNesterov : Momentum::kVanilla;
}

Masking MaskingOf(const ParsedOptions& options) {
  const std::string& name = options.Choice("momentum_masking");
  if (name == "false") return Masking::kNone;
  if (name == "ratio") return Masking::kRatio;
  if (name == "flush") return Masking::kFlush;
  // What the gain makes up for is what masking drops.
  return name == "auto" && !options.Flag("gain_compensation") ? Masking::kAuto : Masking::kAll;
}

std::optional<AdamSettings> AdamOf(const ParsedOptions& options) {
  const auto refuse_given = [&](const char* key, const char* reason) {
    if (options.Given(key)) options.Refuse(key, reason);
  };
  if (options.Choice("momentum") != "adam") {
    for (const char* key : {"beta1", "beta2", "epsilon"}) {
      refuse_given(key, "has an effect only with momentum=adam: leave it out");
    }
    return std::nullopt;
  }
  refuse_given("momentum_mu", "has no meaning with momentum=adam: give \"beta1\"");
  if (options.Choice("momentum_masking") != "false") {
    refuse_given("momentum_masking",
                 "has no meaning with momentum=adam, which drops no moments: leave it out");
  }
  if (options.Flag("gain_compensation")) {
    options.Refuse("gain_compensation",
                   "has no meaning with momentum=adam, which drops no moments: leave it out");
  }
  return AdamSettings{.beta1 = options.Real("beta1"),
                      .beta2 = options.Real("beta2"),
                      .epsilon = options.Real("epsilon")};
}

/// Refuses options that leave each other without effect.
void RefuseIdle(const ParsedOptions& options) {
  if (options.Choice("momentum") == "none" && options.Given("momentum_mu")) {
    options.Refuse("momentum_mu",
                   "has no effect with \"momentum\" = \"none\": leave one of them out");
  }
  if (options.Flag("gain_compensation") && options.Given("momentum_masking") &&
      MaskingOf(options) != Masking::kAll) {
    options.Refuse("gain_compensation",
                   "makes up for what masking drops, and has no effect with \"momentum_masking\" = "
                   "\"" +
                       options.Choice("momentum_masking") + "\": leave one of them out");
  }
}

void RefuseStateType(const ParsedOptions& options) {
  if (options.Choice("state_dtype") == "fp32") return;
  if (options.Choice("momentum") == "adam") {
    options.Refuse("state_dtype",
                   "applies to u and v, but momentum=adam has other state: leave it out");
  }
  if (const ValueType values = ValueTypeOf(options);
      values != ValueType::kFloat16 && values != ValueType::kFloat32) {
    options.Refuse(
        "state_dtype",
        "needs values=fp16 or fp32, because the rest of an entry sent in fewer bits is not a "
        "bf16. Leave one of them out");
  }
  if (const std::string& masking = options.Choice("momentum_masking");
      masking == "ratio" || masking == "flush") {
    options.Refuse("state_dtype", "needs momentum_masking=true, false or auto, because what " +
                                      masking +
                                      " leaves of an entry is not a bf16. Leave one of them out");
  }
  if (SelectsByBucket(options)) {
    options.Refuse(
        "state_dtype",
        "needs selection=tensor, where each tensor rounds its own: leave one of them out");
  }
}

/// Refuses alternatives to a memory that cannot be sent whole (Dgc::drains).
void RefuseAlternatives(const ParsedOptions& options) {
  if (AlternativesOf(options).empty()) return;
  const std::string leave = ": leave one of them out";
  if (options.Choice("momentum") == "adam") {
    options.Refuse("alternatives",
                   "cannot take the place of momentum=adam, because the mean of the "
                   "ranks' steps is not the step of the mean" +
                       leave);
  }
  if (options.Flag("gain_compensation")) {
    options.Refuse("alternatives",
                   "send entries that gain_compensation would still divide" + leave);
  }
  if (options.Choice("state_dtype") != "fp32") {
    options.Refuse("alternatives", "need state_dtype=fp32" + leave);
  }
}

std::unique_ptr<Compressor> MakeDgc(const ParsedOptions& options, const TensorSpec& tensor) {
  RefuseIdle(options);
  RefuseStateType(options);
  RefuseAlternatives(options);
  const std::size_t n = tensor.elements();
  const DgcSettings settings{
      .rule = {.momentum = MomentumOf(options),
               .m = static_cast<float>(options.Real("momentum_mu")),
               .masking = MaskingOf(options)},
      .values = ValueTypeOf(options),
      .gain_compensation = options.Flag("gain_compensation"),
      .adam = AdamOf(options),
      .joint = SelectsByBucket(options),
      .state = options.Choice("state_dtype") == "bf16" ? DType::kBFloat16 : DType::kFloat32,
      .seed = CounterRandom(0, tensor.name).key()[0],
  };
  if (n == 0 || tensor.shape.rank() <= 1 || n < MinElementsOf(options)) {
    if (settings.adam) {
      return std::make_unique<DenseMomentum>(*settings.adam, settings.values, n);
    }
    return std::make_unique<DenseMomentum>(settings.rule.momentum, settings.rule.m, settings.values,
                                           n);
  }
  RequireSparseSize(tensor, "dgc");
  return std::make_unique<Dgc>(settings, n);
}

/// An optimizer without momentum gives momentum=none, which must not be refused.
std::string CautionOfGain(const ParsedOptions& options) {
  if (options.Choice("momentum") != "none" || !options.Flag("gain_compensation")) return {};
  return "gain_compensation makes up for the momentum that masking drops, and without momentum has "
         "no effect";
}

const CompressorRegistration kRegistration(
    {"dgc",
     "Deep Gradient Compression: the largest accumulated velocities travel, with momentum "
     "correction and momentum factor masking.",
     JoinSpecs({CommonSpecs(Payloads::kOfEntries), SelectionSpecs(), ValueSpecs(), WarmupSpecs(),
                StepSpecs(), WeightDecaySpecs(), DgcSpecs(),
                AlternativeSpecs({"dense", "fp16", "int8", "push_pull"})}),
     MakeDgc, CodecId::kDgc, CautionOfGain});

}  // namespace
}  // namespace weir
