#include "tests/ops/collectives/adasum_reference.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "common/half_array.h"

namespace weir::adasum {
namespace {

double Dot(const Values& a, const Values& b) {
  double sum = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

Values Pair(const Values& a, const Values& b) {
  const double dot = Dot(a, b), aa = Dot(a, a), bb = Dot(b, b);
  Values result(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    result[i] =
        (aa == 0 ? 1 : 1 - dot / (2 * aa)) * a[i] + (bb == 0 ? 1 : 1 - dot / (2 * bb)) * b[i];
  }
  return result;
}

/// Neighbours, then neighbours of neighbours; who has none waits for the next level.
Values Reference(std::vector<Values> level) {
  while (level.size() > 1) {
    std::vector<Values> next;
    for (std::size_t i = 0; i < level.size(); i += 2) {
      next.push_back(i + 1 < level.size() ? Pair(level[i], level[i + 1]) : level[i]);
    }
    level = std::move(next);
  }
  return level.front();
}

std::vector<std::byte> ToBytes(const Values& values, DType dtype) {
  std::vector<std::byte> bytes(values.size() * SizeOf(dtype));
  const std::vector<float> floats(values.begin(), values.end());
  auto* halves = reinterpret_cast<std::uint16_t*>(bytes.data());
  if (dtype == DType::kFloat64) std::memcpy(bytes.data(), values.data(), bytes.size());
  if (dtype == DType::kFloat32) std::memcpy(bytes.data(), floats.data(), bytes.size());
  if (dtype == DType::kFloat16) FloatsToHalves(floats, {halves, values.size()});
  if (dtype == DType::kBFloat16) FloatsToBFloat16s(floats, {halves, values.size()});
  return bytes;
}

Values FromBytes(const std::vector<std::byte>& bytes, DType dtype) {
  const std::size_t n = bytes.size() / SizeOf(dtype);
  std::vector<float> floats(n);
  const auto* halves = reinterpret_cast<const std::uint16_t*>(bytes.data());
  if (dtype == DType::kFloat64) {
    Values values(n);
    std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }
  if (dtype == DType::kFloat32) std::memcpy(floats.data(), bytes.data(), bytes.size());
  if (dtype == DType::kFloat16) HalvesToFloats({halves, n}, floats);
  if (dtype == DType::kBFloat16) BFloat16sToFloats({halves, n}, floats);
  return {floats.begin(), floats.end()};
}

/// How far a rounded result may be from the reference, of its largest entry.
double Tolerance(DType dtype) {
  if (dtype == DType::kFloat64) return 1e-12;
  if (dtype == DType::kFloat32) return 1e-6;
  return dtype == DType::kFloat16 ? 1e-3 : 8e-3;
}

}  // namespace

Values Input(int rank, std::size_t elements, std::uint32_t salt) {
  Values values(elements);
  for (std::size_t i = 0; i < elements; ++i) {
    const auto x = static_cast<double>(i + salt);
    values[i] = (rank + 1) * std::sin(x) + std::cos(x * (rank + 2));
  }
  return values;
}

std::vector<std::byte> InputBytes(int rank, std::size_t elements, std::uint32_t salt, DType dtype) {
  return ToBytes(Input(rank, elements, salt), dtype);
}

Values Expected(int ranks, std::size_t elements, std::uint32_t salt, DType dtype, double prescale,
                double postscale) {
  std::vector<Values> inputs;
  for (int rank = 0; rank < ranks; ++rank) {
    inputs.push_back(FromBytes(InputBytes(rank, elements, salt, dtype), dtype));
    for (double& value : inputs.back()) value *= prescale;
  }
  Values expected = Reference(std::move(inputs));
  for (double& value : expected) value *= postscale;
  return expected;
}

void ExpectNear(const std::vector<std::byte>& found, const Values& expected, DType dtype) {
  const Values values = FromBytes(found, dtype);
  ASSERT_EQ(values.size(), expected.size());
  double largest = 0.0;
  for (const double x : expected) largest = std::max(largest, std::abs(x));
  for (std::size_t i = 0; i < values.size(); ++i) {
    ASSERT_NEAR(values[i], expected[i], Tolerance(dtype) * largest) << "entry " << i;
  }
}

}  // namespace weir::adasum
