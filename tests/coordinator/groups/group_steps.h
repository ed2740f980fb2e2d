#pragma once

#include <map>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "weir/engine.h"

/// A small group of gradients and its steps, for tests of groups.
namespace weir {

using Options = std::map<std::string, std::string>;

inline const std::vector<Shape>& Shapes() {
  static const std::vector<Shape> shapes = {Shape{64, 48}, Shape{64}, Shape{40, 64}};
  return shapes;
}

inline GradientGroupSpec SpecOf(const Options& compression, const std::string& name = "model") {
  GradientGroupSpec spec{.name = name, .compression = compression};
  for (std::size_t i = 0; i < Shapes().size(); ++i) {
    spec.tensors.push_back({.name = "p" + std::to_string(i), .shape = Shapes()[i]});
  }
  return spec;
}

using Tensors = std::vector<std::vector<float>>;

/// Makes a gradient that depends on its arguments only; ranks differ in size, too.
inline Tensors GradientOf(int rank, int step) {
  Tensors gradients;
  std::mt19937 random(static_cast<unsigned>(100 * step + rank));
  std::normal_distribution<float> normal(0.0f, 1.0f + 3.0f * static_cast<float>(rank));
  for (const Shape& shape : Shapes()) {
    auto& gradient = gradients.emplace_back(static_cast<std::size_t>(shape.elements()));
    for (float& value : gradient) value = normal(random);
  }
  return gradients;
}

inline Tensors Step(GradientGroup& group, Tensors gradients, float rate = 0.1f,
                    float loss_scale = 1.0f) {
  Tensors updates = gradients;
  group.BeginStep({.learning_rates = std::span<const float>(&rate, 1), .loss_scale = loss_scale});
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    group.Submit(i, {gradients[i].data(), DType::kFloat32, Shapes()[i]},
                 {updates[i].data(), DType::kFloat32, Shapes()[i]});
  }
  group.EndStep();
  group.WaitStep();
  return updates;
}

/// True if this rank's values are those of rank 0, bit for bit.
inline bool SameAsRankZero(Engine& engine, const Tensors& tensors) {
  Tensors theirs = tensors;
  for (std::size_t i = 0; i < theirs.size(); ++i) {
    const TensorView view{theirs[i].data(), DType::kFloat32, Shapes()[i]};
    engine.Wait(engine.Broadcast("check." + std::to_string(i), view, 0));
  }
  return theirs == tensors;
}

}  // namespace weir
