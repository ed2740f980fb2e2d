#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "compression/dgc/dgc_math.h"
#include "compression/dgc/weight_decay.h"
#include "plugins/cpp/look_ahead.h"
#include "weir/optimizer.h"

namespace weir {

/// Division of a parameter's momentum between its compressor and the rule.
struct MomentumShare {
  /// Options for the gradient, including the momentum if the compressor handles it.
  std::map<std::string, std::string> compression;
  Momentum momentum = Momentum::kNone;        ///< Left to the rule.
  Momentum decay_momentum = Momentum::kNone;  ///< For the weight decay beside compression.
  float m = 0.0f;
  /// True if the result is a step, learning rate included (momentum=adam), to be subtracted.
  bool rate_inside = false;
};

/// Division of SGD between the compressors and the rule.
struct SgdPlan {
  /// Options for all gradients.
  std::map<std::string, std::string> compression;
  std::vector<MomentumShare> shares;  ///< By parameter.
  /// Further values that the ranks must agree on.
  std::map<std::string, std::string> also_equal;
  float weight_decay = 0.0f;
  /// True if weight decay is added to the gradient before compression (weight_decay_form = local).
  bool local_decay = false;
  LookAheadPlan look_ahead;
};

/// Splits the options. Throws InvalidArgument when momentum or weight decay is given twice.
SgdPlan PlanSgd(const OptimizerOptions& options, std::span<const Parameter> parameters);

/// Momentum SGD on the compressed result; plain SGD when the compressor corrects the momentum (Lin
/// et al., ICLR 2018, section 3). If the compressor takes Adam's steps (momentum=adam), the rule
/// subtracts them, with AdamW's weight decay beside them (Loshchilov and Hutter, ICLR 2019).
class SgdRule final : public UpdateRule {
 public:
  SgdRule(const SgdPlan& plan, std::span<const Parameter> parameters);

  void Apply(std::size_t parameter, std::span<float> value, std::span<float> direction,
             float learning_rate) override;
  std::vector<StateArray> State(std::size_t parameter) override;

 private:
  void Subtract(std::span<float> value, std::span<const float> step, float learning_rate) const;

  const SgdPlan plan_;
  // By parameter; empty unless the rule handles momentum, or decay is beside compression.
  std::vector<std::vector<float>> momentum_;
  std::vector<std::unique_ptr<WeightDecay>> decay_;
};

}  // namespace weir
