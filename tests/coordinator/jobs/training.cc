#include "tests/coordinator/jobs/training.h"

#include <cstring>
#include <numeric>
#include <span>

namespace weir {
namespace {

const std::vector<Shape>& Shapes() {
  static const std::vector<Shape> shapes = {Shape{64, 48}, Shape{64},     Shape{40, 30},
                                            Shape{1100},   Shape{6, 100}, Shape{33, 64}};
  return shapes;
}

/// SplitMix64: the same numbers everywhere, from any starting point.
std::uint64_t Mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

/// Between -1 and 1.
float Noise(std::uint64_t x) {
  return static_cast<float>(static_cast<std::int32_t>(Mix(x) >> 40) - (1 << 23)) / (1 << 23);
}

}  // namespace

Options DgcOptions(const std::string& momentum, int warmup_steps) {
  return {{"compressor", "dgc"},
          {"momentum", momentum},
          {"momentum_mu", "0.9"},
          {"values", "fp32"},
          {"sparsity", "0.1,0.75,0.9375,0.99"},
          {"rampup_begin_step", "2"},
          {"warmup_steps", std::to_string(warmup_steps)}};
}

Training::Training(Engine& engine, const Options& compression, const std::string& name,
                   int process_set)
    : rank_(engine.rank()) {
  GradientGroupSpec spec{.name = name, .compression = compression, .process_set = process_set};
  for (std::size_t i = 0; i < Shapes().size(); ++i) {
    const Shape& shape = Shapes()[i];
    spec.tensors.push_back({.name = "p" + std::to_string(i), .shape = shape});
    weights_.emplace_back(static_cast<std::size_t>(shape.elements()), 1.0f);
  }
  gradients_ = weights_;
  updates_ = weights_;
  group_ = engine.Register(std::move(spec));
  for (std::size_t i = 0; i < updates_.size(); ++i) {
    group_->SetDefaultUpdate(i, updates_[i].data());
  }
}

std::size_t Training::tensors() { return Shapes().size(); }

void Training::ComputeGradient(std::size_t tensor) {
  const auto step = static_cast<std::uint64_t>(group_->next_step());
  const auto rank = static_cast<std::uint64_t>(rank_);
  const std::uint64_t stream = Mix((rank * 100 + tensor) * 100000 + step);
  for (std::size_t i = 0; i < gradients_[tensor].size(); ++i) {
    gradients_[tensor][i] = 0.5f * weights_[tensor][i] + Noise(stream + i);
  }
}

void Training::ZeroGradient(std::size_t tensor) {
  gradients_[tensor].assign(gradients_[tensor].size(), 0.0f);
}

void Training::Submit(std::size_t tensor) {
  group_->Submit(tensor, {gradients_[tensor].data(), DType::kFloat32, Shapes()[tensor]},
                 {updates_[tensor].data(), DType::kFloat32, Shapes()[tensor]});
}

void Training::Begin() {
  rate_ = 0.01f / (1.0f + 0.001f * static_cast<float>(group_->next_step()));
  group_->BeginStep({.learning_rates = std::span(&rate_, 1)});
}

StepReport Training::End() {
  group_->EndStep();
  const StepReport report = group_->WaitStep();
  for (std::size_t t = 0; t < weights_.size(); ++t) {
    for (std::size_t i = 0; i < weights_[t].size(); ++i) weights_[t][i] -= rate_ * updates_[t][i];
  }
  return report;
}

StepReport Training::Step(const std::vector<std::size_t>& order) {
  std::vector<std::size_t> tensors = order;
  if (tensors.empty()) {
    tensors.resize(Shapes().size());
    std::iota(tensors.begin(), tensors.end(), std::size_t{0});
  }
  Begin();
  for (const std::size_t tensor : tensors) {
    ComputeGradient(tensor);
    Submit(tensor);
  }
  return End();
}

void Training::Steps(int count) {
  for (int i = 0; i < count; ++i) Step();
}

std::uint64_t Training::Hash() const {
  std::uint64_t hash = 0;
  for (const std::vector<float>& tensor : weights_) {
    for (const float weight : tensor) {
      std::uint32_t bits = 0;
      std::memcpy(&bits, &weight, sizeof bits);
      hash = (hash ^ bits) * 0x100000001b3u;
    }
  }
  return hash;
}

}  // namespace weir
