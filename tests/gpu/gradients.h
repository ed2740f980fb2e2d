#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "common/half.h"
#include "weir/dtype.h"

namespace weir {

using Bits = std::vector<std::uint32_t>;

inline Bits BitsOf(std::span<const float> values) {
  Bits bits;
  for (const float value : values) bits.push_back(std::bit_cast<std::uint32_t>(value));
  return bits;
}

/// A gradient on the CPU, as fp32, and on the GPU, in its own type.
struct Gradient {
  std::vector<float> values;
  std::vector<std::byte> bytes;
};

inline Gradient MakeGradient(std::vector<float> values, DType dtype) {
  Gradient gradient;
  for (float& value : values) {
    std::byte raw[8];
    if (dtype == DType::kFloat32) {
      std::memcpy(raw, &value, 4);
    } else if (dtype == DType::kFloat64) {
      const double wide = value;
      std::memcpy(raw, &wide, 8);
    } else {
      const std::uint16_t half =
          dtype == DType::kFloat16 ? FloatToHalf(value) : FloatToBFloat16(value);
      value = dtype == DType::kFloat16 ? HalfToFloat(half) : BFloat16ToFloat(half);
      std::memcpy(raw, &half, 2);
    }
    gradient.bytes.insert(gradient.bytes.end(), raw, raw + SizeOf(dtype));
  }
  gradient.values = std::move(values);
  return gradient;
}

/// Normally distributed numbers whose scale grows and falls.
class Gradients {
 public:
  explicit Gradients(unsigned seed) : random_(seed) {}
  std::vector<float> Of(std::size_t n, float deviation = 0.1f) {
    std::normal_distribution<float> normal(0.0f, deviation);
    std::vector<float> values(n);
    for (float& value : values) value = normal(random_);
    return values;
  }
  /// Makes one for each tensor.
  template <typename Tensor>
  std::vector<std::vector<float>> Of(const std::vector<Tensor>& tensors) {
    std::vector<std::vector<float>> all;
    for (const Tensor& tensor : tensors) all.push_back(Of(tensor.n));
    return all;
  }

 private:
  std::mt19937 random_;
};

}  // namespace weir
