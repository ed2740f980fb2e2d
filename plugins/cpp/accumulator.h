#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace weir {

/// The gradient of one parameter over the backward passes of a step. Not thread-safe.
class Accumulator {
 public:
  Accumulator(std::span<float> gradient, int passes);

  /// Adds one complete pass. True when it was the last of the step: the gradient then holds the
  /// mean. Throws InvalidArgument, naming the parameter, for a pass too many.
  bool Add(const std::string& name);
  /// Completes, at the end of a step, the mean of a parameter that some passes did not use. True
  /// when there is a gradient to submit.
  bool Finish();
  void Reset() { count_ = 0; }

 private:
  void Average();

  std::span<float> gradient_;
  int passes_;
  int count_ = 0;
  std::vector<float> sum_;  ///< Empty when a step has one pass.
};

}  // namespace weir
