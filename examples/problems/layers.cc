#include "examples/problems/layers.h"

#include <cmath>
#include <cstdint>

namespace problems {

Layers::Layers(std::size_t count, std::size_t rows, int rank) : rows_(rows) {
  std::mt19937 targets(1);
  std::normal_distribution<float> normal;
  for (std::size_t i = 0; i < count; ++i) {
    Layer& layer = layers_.emplace_back();
    layer.name = "layer" + std::to_string(i) + ".weight";
    for (auto* values : {&layer.value, &layer.gradient}) values->resize(rows * rows);
    for (std::size_t k = 0; k < rows * rows; ++k) layer.target.push_back(normal(targets));
  }
  random_.seed(static_cast<std::uint32_t>(rank) + 2);
}

std::vector<weir::Parameter> Layers::Parameters() {
  const auto side = static_cast<std::int64_t>(rows_);
  std::vector<weir::Parameter> parameters;
  for (Layer& layer : layers_) {
    parameters.push_back({.name = layer.name,
                          .value = layer.value,
                          .gradient = layer.gradient,
                          .shape = {side, side}});
  }
  return parameters;
}

void Layers::Backward(const std::function<void(std::size_t)>& take_time,
                      const std::function<void(std::size_t)>& ready) {
  std::normal_distribution<float> noise;
  for (std::size_t i = layers_.size(); i-- > 0;) {
    take_time(i);
    Layer& layer = layers_[i];
    // One random number per row: a normal one for each entry would take most of the time.
    for (std::size_t row = 0; row < rows_; ++row) {
      const float size = 0.5f * noise(random_);
      for (std::size_t k = row * rows_; k < (row + 1) * rows_; ++k) {
        const float sign = (k * 2654435761u >> 7 & 1) != 0 ? 1.0f : -1.0f;
        layer.gradient[k] = layer.value[k] - layer.target[k] + sign * size;
      }
    }
    ready(i);
  }
}

double Layers::Loss() const {
  double sum = 0.0;
  for (const Layer& layer : layers_) {
    for (std::size_t k = 0; k < layer.value.size(); ++k) {
      const double missing = layer.value[k] - layer.target[k];
      sum += missing * missing;
    }
  }
  return sum / static_cast<double>(layers_.size() * rows_ * rows_);
}

}  // namespace problems
