#include "tests/compression/cpu/dgc_reference.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace weir {

DgcReference::DgcReference(Momentum momentum, float m, Masking masking, std::size_t n)
    : u(momentum == Momentum::kNone ? 0 : n),
      v(n),
      momentum_(momentum),
      m_(m),
      masking_(masking),
      direction_(n),
      totals_(n),
      sends_(n),
      keys_(n) {}

void DgcReference::Step(std::span<const float> gradient, float gradient_scale, std::size_t k) {
  Accumulate(gradient, gradient_scale);
  Select(k);
  Settle();
}

void DgcReference::Accumulate(std::span<const float> gradient, float gradient_scale) {
  const std::size_t n = v.size();
  for (std::size_t i = 0; i < n; ++i) {
    const float g = gradient[i] * gradient_scale;
    direction_[i] = IsFinite(g) ? g : 0.0f;
  }
  if (momentum_ == Momentum::kVanilla) {
    for (std::size_t i = 0; i < n; ++i) u[i] = m_ * u[i] + direction_[i];
    for (std::size_t i = 0; i < n; ++i) v[i] += u[i];
  } else if (momentum_ == Momentum::kNesterov) {
    for (std::size_t i = 0; i < n; ++i) u[i] = m_ * (u[i] + direction_[i]);
    for (std::size_t i = 0; i < n; ++i) v[i] += u[i] + direction_[i];
  } else {
    for (std::size_t i = 0; i < n; ++i) v[i] += direction_[i];
  }
}

void DgcReference::Select(std::size_t k) {
  totals_ = v;
  if (HasTail()) {
    const float tail = m_ / (1.0f - m_);
    for (std::size_t i = 0; i < v.size(); ++i) totals_[i] += tail * u[i];
  }
  sends_ = masking_ == Masking::kAuto ? v : totals_;
  for (std::size_t i = 0; i < v.size(); ++i) keys_[i] = MagnitudeKey(totals_[i]);
  const auto nth = keys_.begin() + static_cast<std::ptrdiff_t>(k - 1);
  std::nth_element(keys_.begin(), nth, keys_.end(), std::greater<>());
  const std::uint32_t kth = *nth;
  const auto above = static_cast<std::size_t>(
      std::count_if(keys_.begin(), nth, [&](std::uint32_t key) { return key > kth; }));
  std::size_t ties = k - above;
  indices_.clear();
  values_.clear();
  for (std::size_t i = 0; i < v.size(); ++i) {
    const std::uint32_t key = MagnitudeKey(totals_[i]);
    if (key < kth || (key == kth && ties == 0)) continue;
    ties -= key == kth ? 1 : 0;
    indices_.push_back(static_cast<std::uint32_t>(i));
    values_.push_back(IsFinite(totals_[i]) ? sends_[i] : totals_[i]);
  }
}

void DgcReference::Settle() {
  for (std::size_t i = 0; i < indices_.size(); ++i) {
    const std::uint32_t index = indices_[i];
    if (!IsFinite(values_[i])) {
      values_[i] = sends_[index] = v[index] = 0.0f;
      if (!u.empty() && (HasTail() || !IsFinite(u[index]))) u[index] = 0.0f;
    }
    const float waited = v[index];
    if (values_[i] == 0.0f && sends_[index] != 0.0f) continue;  // Rounding left nothing to send.
    v[index] = sends_[index] - values_[i];
    if (u.empty() || masking_ == Masking::kNone || masking_ == Masking::kAuto) continue;
    if (masking_ != Masking::kRatio) {
      u[index] = 0.0f;
    } else if (std::abs(u[index]) < std::abs(waited)) {
      u[index] *= std::abs(u[index]) / std::abs(waited);
    }
  }
}

}  // namespace weir
