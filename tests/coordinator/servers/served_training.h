#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "weir/engine.h"
#include "weir/gradient_group.h"
#include "weir/settings.h"

/// Training with summation servers, for their tests.
namespace weir::served {

using Options = std::map<std::string, std::string>;

inline const Shape kShape{7, 43};
inline constexpr std::size_t kElements = 7 * 43;

inline float GradientOf(int rank, std::int64_t step, std::size_t i) {
  const std::size_t seed = 7 * static_cast<std::size_t>(rank) + 13 * static_cast<std::size_t>(step);
  return static_cast<float>((i * 31 + seed * 17) % 101) / 8.0f - 6.0f;
}

inline Settings WithServers(int servers) {
  Settings settings;
  settings.servers = servers;
  return settings;
}

inline Options PushPull(Options options) {
  options["route"] = "push_pull";
  options.try_emplace("partition_bytes", "200");
  const std::string compressor = options.at("compressor");
  const bool whole_arrays = compressor == "dense" || compressor == "fp16" || compressor == "bf16";
  if (!whole_arrays) options.try_emplace("min_elements", "1");
  return options;
}

/// A matrix and a vector on one rank; `applied` sums the results.
class Trainer {
 public:
  Trainer(Engine& engine, const Options& compression, const std::string& name = "g")
      : engine_(engine),
        group_(engine.Register({.name = name,
                                .tensors = {{.name = "w", .shape = kShape},
                                            {.name = "b", .shape = Shape{5}, .parameter_group = 1}},
                                .compression = compression})) {}

  /// Takes steps with gradients, or with zeros if `silent`.
  void Steps(std::int64_t count, bool silent = false) {
    for (std::int64_t s = 0; s < count; ++s) {
      Begin(silent);
      group_->WaitStep();
      for (std::size_t i = 0; i < kElements; ++i) applied_[i] += update_[i];
    }
  }
  Handle Begin(bool silent = false) {
    for (std::size_t i = 0; i < kElements; ++i) {
      gradient_[i] = silent ? 0.0f : GradientOf(engine_.rank(), group_->next_step(), i);
    }
    const float rate = group_->next_step() < 3 ? 0.1f : 0.05f;
    const float rates[] = {rate, 2.0f * rate};
    group_->BeginStep({.learning_rates = rates});
    const Handle handle = group_->Submit(0, {gradient_.data(), DType::kFloat32, kShape},
                                         {update_.data(), DType::kFloat32, kShape});
    group_->EndStep();
    return handle;
  }
  void Wait() { group_->WaitStep(); }
  GradientGroup& group() { return *group_; }
  const std::vector<double>& applied() const { return applied_; }

 private:
  Engine& engine_;
  std::vector<float> gradient_ = std::vector<float>(kElements);
  std::vector<float> update_ = std::vector<float>(kElements);
  std::vector<double> applied_ = std::vector<double>(kElements);
  std::unique_ptr<GradientGroup> group_;
};

}  // namespace weir::served
