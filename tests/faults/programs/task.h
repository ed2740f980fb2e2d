#pragma once

#include <cstdint>
#include <vector>

#include "weir/optimizer.h"

namespace weir::faults {

/// A task whose loss falls: a linear map learns another one from noisy samples, and a large array
/// follows its target.
class Task {
 public:
  Task();
  Task(const Task&) = delete;
  Task& operator=(const Task&) = delete;

  /// "map" [16, 32], "bias" [16] and "array" [64, 64].
  std::vector<Parameter> Parameters();
  /// Computes the gradients of a batch that depends on its arguments alone.
  void Backward(std::int64_t step, int rank);
  void FillGradients(float value);
  /// Squared distance to what is to be learned; 1 at the start.
  double Loss() const;
  /// Of the bits of all values.
  std::uint64_t Hash() const;

 private:
  struct Array {
    const char* name;
    Shape shape;
    std::vector<float> target;
    std::vector<float> value;
    std::vector<float> gradient;
  };
  std::vector<Array> arrays_;
  double first_distance_ = 1.0;

  double Distance() const;
};

inline constexpr std::uint64_t kHashOfNothing = 14695981039346656037u;
/// FNV-1a of the bytes of some numbers, to go on from `hash`.
std::uint64_t HashOf(const std::vector<float>& values, std::uint64_t hash);

}  // namespace weir::faults
