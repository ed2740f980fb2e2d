#include "plugins/cpp/accumulator.h"

#include "weir/error.h"

namespace weir {

Accumulator::Accumulator(std::span<float> gradient, int passes)
    : gradient_(gradient), passes_(passes) {
  if (passes > 1) sum_.resize(gradient.size());
}

bool Accumulator::Add(const std::string& name) {
  if (count_ == passes_) {
    throw InvalidArgument("GradientReady was called for '" + name + "' more than " +
                              std::to_string(passes_) +
                              " times in a step; backward_passes_per_step says how often",
                          {name, {}, "submit"});
  }
  ++count_;
  if (passes_ == 1) return true;
  for (std::size_t i = 0; i < sum_.size(); ++i) {
    sum_[i] = count_ == 1 ? gradient_[i] : sum_[i] + gradient_[i];
  }
  if (count_ < passes_) return false;
  Average();
  return true;
}

bool Accumulator::Finish() {
  if (count_ == 0 || count_ == passes_) return false;
  Average();
  return true;
}

void Accumulator::Average() {
  const auto passes = static_cast<float>(passes_);
  for (std::size_t i = 0; i < sum_.size(); ++i) gradient_[i] = sum_[i] / passes;
}

}  // namespace weir
