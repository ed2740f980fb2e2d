#pragma once

#include <span>
#include <vector>

#include "compression/dgc/dgc_math.h"
#include "tests/plugins/model.h"

namespace weir {

/// Dense momentum SGD on one rank that has all samples, a number at a time and in double. A
/// distributed optimizer must equal it, except for rounding.
class ReferenceSgd {
 public:
  ReferenceSgd(Momentum momentum, double m, double weight_decay, const std::vector<float>& start)
      : momentum_(momentum),
        m_(m),
        weight_decay_(weight_decay),
        values_(start.begin(), start.end()) {
    u_.resize(values_.size());
  }

  void Step(std::span<const double> gradient, double rate) {
    for (std::size_t i = 0; i < values_.size(); ++i) {
      const double g = gradient[i] + weight_decay_ * values_[i];
      values_[i] -= rate * Direction(g, u_[i]);
    }
  }
  /// Takes a step with the mean of `ranks` ranks' Model::DrawGradients, at RateAt(step).
  void Step(int step, int ranks) {
    std::vector<double> mean(values_.size());
    Model model;
    for (int rank = 0; rank < ranks; ++rank) {
      model.DrawGradients(step, rank);
      const std::vector<float> gradients = model.Gradients();
      for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += gradients[i] / ranks;
    }
    Step(mean, RateAt(step));
  }

  const std::vector<double>& values() const { return values_; }

 private:
  double Direction(double g, double& u) const {
    switch (momentum_) {
      case Momentum::kVanilla:
        return u = m_ * u + g;
      case Momentum::kNesterov:
        u = m_ * (u + g);
        return u + g;
      case Momentum::kNone:
        break;
    }
    return g;
  }

  Momentum momentum_;
  double m_;
  double weight_decay_;
  std::vector<double> values_;
  std::vector<double> u_;
};

}  // namespace weir
