#include "plugins/cpp/look_ahead.h"

#include <algorithm>
#include <utility>

#include "compression/options/registry.h"
#include "compression/options/tensor_options.h"

namespace weir {

LookAheadPlan TakeLookAhead(CompressionOptions& compression,
                            std::span<const Parameter> parameters) {
  if (!compression.contains("look_ahead")) return {};
  const TensorOptions of_tensors(compression);
  LookAheadPlan plan{.factor =
                         static_cast<float>(ParseOptions(of_tensors.base()).Real("look_ahead"))};
  compression.erase("look_ahead");
  if (plan.factor == 0.0f) return plan;
  for (const Parameter& parameter : parameters) {
    const ParsedOptions options = ParseOptions(of_tensors.For(parameter.name));
    const bool is_dgc = options.compressor() == "dgc";
    if (is_dgc && options.Choice("route") == "hierarchical") {
      options.Refuse("look_ahead",
                     "needs what each rank has not sent yet, and with route=hierarchical, as for " +
                         of_tensors.Describe(parameter.name) +
                         ", the first rank of a host keeps it for all: leave one of them out");
    }
    plan.rate_inside.push_back(is_dgc && options.Choice("momentum") == "adam");
  }
  return plan;
}

LookAhead::LookAhead(LookAheadPlan plan, std::span<const Parameter> parameters)
    : plan_(std::move(plan)), parameters_(parameters.begin(), parameters.end()) {
  if (plan_.factor == 0.0f) return;
  for (const Parameter& parameter : parameters_) {
    not_sent_.emplace_back(parameter.value.size());
    values_.emplace_back(parameter.value.size());
  }
}

void LookAhead::Read(const GradientGroup& group) {
  for (std::size_t i = 0; i < not_sent_.size(); ++i) group.CopyVelocity(i, not_sent_[i]);
}

void LookAhead::Shift(std::span<const float> rates, int ranks) {
  for (std::size_t i = 0; i < not_sent_.size(); ++i) {
    const std::span<float> value = parameters_[i].value;
    std::ranges::copy(value, values_[i].begin());
    const float rate = plan_.rate_inside[i]
                           ? 1.0f
                           : rates[static_cast<std::size_t>(parameters_[i].parameter_group)];
    const float factor = rate * plan_.factor / static_cast<float>(ranks);
    for (std::size_t k = 0; k < value.size(); ++k) value[k] -= factor * not_sent_[i][k];
  }
  shifted_ = true;
}

void LookAhead::PutBack() {
  if (!shifted_) return;
  shifted_ = false;
  // Copies and not differences, because adding back a subtracted value would round.
  for (std::size_t i = 0; i < values_.size(); ++i) {
    std::ranges::copy(values_[i], parameters_[i].value.begin());
  }
}

std::span<const float> LookAhead::Value(std::size_t parameter) const {
  if (shifted_ && !values_.empty()) return values_[parameter];
  return parameters_[parameter].value;
}

}  // namespace weir
