#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "compression/options/options.h"
#include "weir/gradient_group.h"
#include "weir/optimizer.h"

namespace weir {

/// How far ahead gradients are taken (docs/reference/compression.md, "Beyond the paper").
struct LookAheadPlan {
  float factor = 0.0f;  ///< c; 0: gradients are those of the parameters themselves.
  /// By parameter, unless c is 0: what is not sent has the learning rate in it (momentum=adam).
  std::vector<bool> rate_inside;
};

/// Takes the option out of an optimizer's dictionary, for it is not the engine's. Throws
/// InvalidArgument where one of the parameters cannot have it.
LookAheadPlan TakeLookAhead(CompressionOptions& compression, std::span<const Parameter> parameters);

/// Parameters that are, for the time of a step's backward passes, where what this rank has not sent
/// yet would bring them: value - lr * (c / ranks) * v. They come back bit for bit. Not thread-safe,
/// but for Value.
class LookAhead {
 public:
  LookAhead(LookAheadPlan plan, std::span<const Parameter> parameters);
  ~LookAhead() { PutBack(); }
  LookAhead(const LookAhead&) = delete;
  LookAhead& operator=(const LookAhead&) = delete;

  /// Looks up what is not sent; between steps.
  void Read(const GradientGroup& group);
  /// Goes there. `rates`: by parameter group.
  void Shift(std::span<const float> rates, int ranks);
  void PutBack();

  /// What a parameter is without being shifted.
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
