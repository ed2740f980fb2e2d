#pragma once

#include <cstddef>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "weir/optimizer.h"

namespace problems {

/// A model that is easy to look through: layers of random matrices, each pulled towards a target of
/// its own by gradients with noise in them, and a backward pass that takes as long as it is told.
class Layers {
 public:
  /// Layers are `rows` by `rows`; noise differs on each rank.
  Layers(std::size_t count, std::size_t rows, int rank);

  std::vector<weir::Parameter> Parameters();
  std::size_t count() const { return layers_.size(); }

  /// Gradients of all layers, the last one first. Of each, `take_time` is called with its number
  /// first, `ready` when it is there.
  void Backward(const std::function<void(std::size_t)>& take_time,
                const std::function<void(std::size_t)>& ready);

  /// Mean of the squares of what is missing to the targets.
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
