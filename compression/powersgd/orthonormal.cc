#include "compression/powersgd/orthonormal.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "common/check.h"

namespace weir {
namespace {

// Part of a column's length that must remain off the earlier ones; fp32 rounding leaves less.
constexpr double kLeast = 1e-6;

/// Uses 8 running sums, so that vectors of every length add up alike.
template <class A, class B>
double ScalarProduct(std::span<const A> a, std::span<const B> b) {
  constexpr std::size_t kSums = 8;
  std::array<double, kSums> sums{};
  std::size_t i = 0;
  for (; i + kSums <= a.size(); i += kSums) {
    for (std::size_t s = 0; s < kSums; ++s) sums[s] += double{a[i + s]} * double{b[i + s]};
  }
  for (std::size_t s = 0; i < a.size(); ++i, ++s) sums[s] += double{a[i]} * double{b[i]};
  for (std::size_t width = kSums / 2; width > 0; width /= 2) {
    for (std::size_t s = 0; s < width; ++s) sums[s] += sums[s + width];
  }
  return sums[0];
}

/// Returns false, with `column` zero, when nothing of it is left. `rest` is scratch of its size.
bool OrthonormaliseOne(std::span<const float> earlier, std::span<float> column,
                       std::span<double> rest) {
  std::ranges::copy(column, rest.begin());
  const std::span<const double> rest_view = rest;
  const double before = std::sqrt(ScalarProduct(rest_view, rest_view));
  double after = before;
  if (std::isfinite(before)) {
    for (int pass = 0; pass < 2; ++pass) {
      for (std::size_t at = 0; at < earlier.size(); at += column.size()) {
        const auto other = earlier.subspan(at, column.size());
        const double along = ScalarProduct(other, rest_view);
        for (std::size_t i = 0; i < rest.size(); ++i) rest[i] -= along * double{other[i]};
      }
    }
    after = std::sqrt(ScalarProduct(rest_view, rest_view));
  }
  if (!std::isfinite(before) || after <= kLeast * before) {
    std::ranges::fill(column, 0.0f);
    return false;
  }
  for (std::size_t i = 0; i < rest.size(); ++i) column[i] = static_cast<float>(rest[i] / after);
  return true;
}

}  // namespace

void Orthonormalise(std::span<float> columns, std::size_t length, const DrawColumn& draw) {
  WEIR_CHECK(length > 0 && columns.size() % length == 0);
  std::vector<double> rest(length);
  for (std::size_t at = 0; at < columns.size(); at += length) {
    const auto earlier = std::span<const float>(columns).first(at);
    const auto column = columns.subspan(at, length);
    if (OrthonormaliseOne(earlier, column, rest) || !draw) continue;
    draw(at / length, column);
    OrthonormaliseOne(earlier, column, rest);
  }
}

}  // namespace weir
