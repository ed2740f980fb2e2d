#pragma once

#include <cstddef>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "weir/optimizer.h"

namespace problems {

/// A simple model: layers of random matrices, each pulled towards its own target by noisy
/// gradients, and a backward pass of a given length.
class Layers {
 public:
  /// Layers are `rows` by `rows`; noise differs on each rank.
  Layers(std::size_t count, std::size_t rows, int rank);

  std::vector<weir::Parameter> Parameters();
  std::size_t count() const { return layers_.size(); }

  /// Computes the gradients of all layers, the last one first. For each it calls `take_time` with
  /// its number first, and `ready` when it is complete.
  void Backward(const std::function<void(std::size_t)>& take_time,
                const std::function<void(std::size_t)>& ready);

  /// Returns the mean square of the distance to the targets.
  double Loss() const;

 private:
  struct Layer {
    std::string name;
    std::vector<float> value, gradient, target;
  };

  const std::size_t rows_;
  std::vector<Layer> layers_;
  std::mt19937 random_;
};

}  // namespace problems
