#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "compression/options/options.h"
#include "weir/gradient_group.h"
#include "weir/optimizer.h"

namespace weir {

/// Distance of the look-ahead (docs/reference/compression.md, "Beyond the paper").
struct LookAheadPlan {
  float factor = 0.0f;  ///< c; 0: gradients are those of the parameters themselves.
  /// By parameter, unless c is 0: true if unsent values include the learning rate (momentum=adam).
  std::vector<bool> rate_inside;
};

/// Removes the option from an optimizer's dictionary, as it is not the engine's. Throws
/// InvalidArgument if one of the parameters cannot have it.
LookAheadPlan TakeLookAhead(CompressionOptions& compression, std::span<const Parameter> parameters);

/// Parameters that are shifted, during a step's backward passes, to where this rank's
/// unsent part would bring them: value - lr * (c / ranks) * v. They return bit for bit.
/// Not thread-safe, except Value.
class LookAhead {
 public:
  LookAhead(LookAheadPlan plan, std::span<const Parameter> parameters);
  ~LookAhead() { PutBack(); }
  LookAhead(const LookAhead&) = delete;
  LookAhead& operator=(const LookAhead&) = delete;

  /// Reads the unsent parts; between steps.
  void Read(const GradientGroup& group);
  /// Shifts the parameters. `rates`: by parameter group.
  void Shift(std::span<const float> rates, int ranks);
  void PutBack();

  /// Returns a parameter's unshifted value.
  std::span<const float> Value(std::size_t parameter) const;

 private:
  const LookAheadPlan plan_;
  const std::vector<Parameter> parameters_;
  // By parameter; none without look-ahead.
  std::vector<std::vector<float>> not_sent_;
  std::vector<std::vector<float>> values_;  ///< While they are shifted.
  bool shifted_ = false;
};

}  // namespace weir
