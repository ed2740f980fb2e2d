#include "plugins/cpp/sgd.h"

#include "common/text/exact_text.h"
#include "compression/options/alternatives.h"
#include "compression/options/registry.h"
#include "compression/options/standard_options.h"
#include "compression/options/tensor_options.h"

namespace weir {
namespace {

Momentum KindOf(const OptimizerOptions& options) {
  if (options.momentum == 0.0f) return Momentum::kNone;
  return options.nesterov ? Momentum::kNesterov : Momentum::kVanilla;
}

std::string OptionText(Momentum momentum) {
  switch (momentum) {
    case Momentum::kVanilla:
      return "vanilla";
    case Momentum::kNesterov:
      return "nesterov";
    case Momentum::kNone:
      break;
  }
  return "none";
}

void CheckOptions(const OptimizerOptions& options) {
  if (!(options.momentum >= 0.0f && options.momentum < 1.0f)) {
    throw InvalidArgument("the momentum must be at least 0 and below 1, not " +
                          std::to_string(options.momentum));
  }
  if (!(options.weight_decay >= 0.0f)) {
    throw InvalidArgument("the weight decay must be at least 0, not " +
                          std::to_string(options.weight_decay));
  }
  if (options.nesterov && options.momentum == 0.0f) {
    throw InvalidArgument("Nesterov momentum needs a momentum above 0");
  }
  const bool sgd = options.momentum != 0.0f || options.nesterov || options.weight_decay != 0.0f;
  if (options.rule && sgd) {
    throw InvalidArgument(
        "momentum, Nesterov and weight decay belong to SGD: with a rule of your own leave them at "
        "0");
  }
}

/// True if a compressor other than "dgc" handles momentum without a coefficient in its options;
/// it then takes the optimizer's.
bool TakesCoefficient(const CompressionOptions& options) {
  const auto has = [&](const char* key, const char* value) {
    const auto found = options.find(key);
    return found != options.end() && found->second == value;
  };
  if (has("compressor", "dgc") || options.contains("momentum_mu")) return false;
  return has("momentum", "nesterov") || has("compressor", "signum");
}

/// Decides who handles the momentum: the compressor "dgc" corrects it itself, so handles it all.
MomentumShare ShareMomentum(const OptimizerOptions& options, CompressionOptions compression) {
  MomentumShare share{
      .compression = std::move(compression), .momentum = KindOf(options), .m = options.momentum};
  const bool given =
      share.compression.contains("momentum") || share.compression.contains("momentum_mu");
  if (TakesCoefficient(share.compression) && options.momentum != 0.0f) {
    share.compression["momentum_mu"] = ExactText(options.momentum);
    share.momentum = Momentum::kNone;
    return share;
  }
  if (given && options.momentum != 0.0f) {
    throw InvalidArgument(
        "momentum is given to the optimizer and in the compression options; give it once");
  }
  const auto compressor = share.compression.find("compressor");
  if (compressor == share.compression.end() || compressor->second != "dgc") return share;
  if (!given) {
    share.compression["momentum"] = OptionText(share.momentum);
    if (options.momentum != 0.0f) share.compression["momentum_mu"] = ExactText(options.momentum);
  }
  const ParsedOptions parsed = ParseOptions(share.compression);
  const std::string& kind = parsed.Choice("momentum");
  share.rate_inside = kind == "adam";
  share.momentum = Momentum::kNone;
  share.decay_momentum = kind == "nesterov"  ? Momentum::kNesterov
                         : kind == "vanilla" ? Momentum::kVanilla
                                             : Momentum::kNone;
  if (parsed.Has("momentum_mu")) share.m = static_cast<float>(parsed.Real("momentum_mu"));
  return share;
}

void PlanWeightDecay(const OptimizerOptions& options, SgdPlan& plan) {
  const WeightDecaySettings decay =
      WeightDecayOf(ParseOptions(TensorOptions(plan.compression).base()));
  if (decay.lambda != 0.0 && options.weight_decay != 0.0f) {
    throw InvalidArgument(
        "weight decay is given to the optimizer and in the compression options; give it once");
  }
  plan.weight_decay = decay.lambda != 0.0 ? static_cast<float>(decay.lambda) : options.weight_decay;
  plan.local_decay = decay.local && plan.weight_decay != 0.0f;
  if (options.rule && plan.weight_decay != 0.0f && !plan.local_decay) {
    throw InvalidArgument(
        "weight decay outside of the gradient is up to your own update rule; leave it out "
        "of the compression options, or give weight_decay_form=local");
  }
  // The gradients' group does not know the parameters.
  plan.also_equal["weight decay"] =
      ExactText(plan.weight_decay) + (plan.local_decay ? ", local" : "");
  plan.compression.erase("weight_decay");
  plan.compression.erase("weight_decay_form");
}

}  // namespace

SgdPlan PlanSgd(const OptimizerOptions& options, std::span<const Parameter> parameters) {
  CheckOptions(options);
  SgdPlan plan;
  plan.also_equal = {
      {"momentum of the optimizer", ExactText(options.momentum)},
      {"nesterov", options.nesterov ? "true" : "false"},
      {"backward passes per step", std::to_string(options.backward_passes_per_step)},
  };
  plan.compression = ResolveAuto(WithoutPrefix(options.compression), options.momentum != 0.0f);
  PlanWeightDecay(options, plan);
  plan.look_ahead = TakeLookAhead(plan.compression, parameters);
  plan.also_equal["look ahead"] = ExactText(plan.look_ahead.factor);
  const TensorOptions of_tensors(plan.compression);
  plan.compression.merge(ShareMomentum(options, of_tensors.base()).compression);
  for (const Parameter& parameter : parameters) {
    plan.shares.push_back(ShareMomentum(options, of_tensors.For(parameter.name)));
  }
  return plan;
}

SgdRule::SgdRule(const SgdPlan& plan, std::span<const Parameter> parameters)
    : plan_(plan), momentum_(parameters.size()), decay_(parameters.size()) {
  const bool decays = plan_.weight_decay != 0.0f && !plan_.local_decay;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const MomentumShare& share = plan_.shares[i];
    const std::size_t elements = parameters[i].value.size();
    if (share.momentum != Momentum::kNone) {
      momentum_[i].resize(elements);
    } else if (decays && !share.rate_inside) {
      decay_[i] = std::make_unique<WeightDecay>(share.decay_momentum, share.m, plan_.weight_decay,
                                                elements);
    }
  }
}

void SgdRule::Subtract(std::span<float> value, std::span<const float> step,
                       float learning_rate) const {
  const float lambda = plan_.local_decay ? 0.0f : plan_.weight_decay;
  const float kept = 1.0f - learning_rate * lambda;
  for (std::size_t i = 0; i < value.size(); ++i) value[i] = kept * value[i] - step[i];
}

void SgdRule::Apply(std::size_t parameter, std::span<float> value, std::span<float> direction,
                    float learning_rate) {
  const MomentumShare& share = plan_.shares[parameter];
  if (share.rate_inside) return Subtract(value, direction, learning_rate);
  if (decay_[parameter]) decay_[parameter]->Apply(value, direction);
  if (share.momentum == Momentum::kNone) {
    for (std::size_t i = 0; i < value.size(); ++i) value[i] -= learning_rate * direction[i];
    return;
  }
  std::vector<float>& u = momentum_[parameter];
  const float lambda = plan_.local_decay ? 0.0f : plan_.weight_decay;
  for (std::size_t i = 0; i < value.size(); ++i) {
    const float gradient = direction[i] + lambda * value[i];
    value[i] -= learning_rate * AdvanceMomentum(share.momentum, share.m, gradient, u[i]);
  }
}

std::vector<UpdateRule::StateArray> SgdRule::State(std::size_t parameter) {
  std::vector<StateArray> arrays;
  if (plan_.shares[parameter].momentum != Momentum::kNone) {
    arrays.push_back({"momentum", momentum_[parameter]});
  }
  if (decay_[parameter] && !decay_[parameter]->momentum().empty()) {
    arrays.push_back({"decay momentum", decay_[parameter]->momentum()});
  }
  return arrays;
}

}  // namespace weir
