#include "tests/plugins/model.h"

#include <algorithm>
#include <random>

namespace weir {
namespace {

void Draw(std::mt19937& random, std::span<float> values) {
  std::normal_distribution<float> normal;
  for (float& value : values) value = normal(random);
}

}  // namespace

Model::Model(unsigned seed) {
  std::mt19937 random(seed);
  for (const auto& [name, shape] : {std::pair<const char*, Shape>{"in", Shape{8, 6}},
                                    std::pair<const char*, Shape>{"bias", Shape{8}},
                                    std::pair<const char*, Shape>{"out", Shape{5, 8}}}) {
    const auto elements = static_cast<std::size_t>(shape.elements());
    tensors_.push_back({name, shape, std::vector<float>(elements), std::vector<float>(elements)});
    Draw(random, tensors_.back().value);
  }
}

std::vector<Parameter> Model::Parameters() {
  std::vector<Parameter> parameters;
  for (Tensor& tensor : tensors_) {
    parameters.push_back({.name = tensor.name,
                          .value = tensor.value,
                          .gradient = tensor.gradient,
                          .shape = tensor.shape});
  }
  return parameters;
}

std::size_t Model::size() const { return Values().size(); }

void Model::DrawGradients(int step, int rank) {
  std::mt19937 random(static_cast<unsigned>(1000 * (step + 1) + rank));
  for (Tensor& tensor : tensors_) Draw(random, tensor.gradient);
}

void Model::FillGradients(float value) {
  for (Tensor& tensor : tensors_) std::ranges::fill(tensor.gradient, value);
}

std::vector<float> Model::Values() const {
  std::vector<float> values;
  for (const Tensor& tensor : tensors_) {
    values.insert(values.end(), tensor.value.begin(), tensor.value.end());
  }
  return values;
}

std::vector<float> Model::Gradients() const {
  std::vector<float> values;
  for (const Tensor& tensor : tensors_) {
    values.insert(values.end(), tensor.gradient.begin(), tensor.gradient.end());
  }
  return values;
}

float RateAt(int step) { return 0.1f / static_cast<float>(1 + step % 7); }

StepReport TakeStep(DistributedOptimizer& optimizer, Model& model, int step, int rank) {
  optimizer.BeginStep(RateAt(step));
  model.DrawGradients(step, rank);
  for (std::size_t i = model.tensors(); i-- > 0;) optimizer.GradientReady(i);
  return optimizer.Step();
}

}  // namespace weir
