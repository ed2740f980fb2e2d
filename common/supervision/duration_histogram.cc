#include "common/supervision/duration_histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>

#include "weir/error.h"

namespace weir {
namespace {

constexpr int kFirstPower = 10;  // 1,024 ns
constexpr int kSteps = 64;       // In each power of two.

}  // namespace

int DurationHistogram::ClassOf(std::int64_t ns) {
  constexpr std::int64_t kShortest = std::int64_t{1} << kFirstPower;
  constexpr std::int64_t kLongest = (std::int64_t{1} << (kFirstPower + kClasses / kSteps)) - 1;
  const auto value = static_cast<std::uint64_t>(std::clamp(ns, kShortest, kLongest));
  const int power = std::bit_width(value) - 1;
  const auto step = static_cast<int>(value >> (power - std::bit_width(kSteps - 1U))) - kSteps;
  return (power - kFirstPower) * kSteps + step;
}

double DurationHistogram::SecondsOf(int number) {
  const double within = (number % kSteps + 0.5) / kSteps;
  return std::ldexp(1.0 + within, kFirstPower + number / kSteps) * 1e-9;
}

void DurationHistogram::AddToClass(int number, std::uint64_t count) {
  if (number < 0 || number >= kClasses) {
    throw InvalidArgument("class " + std::to_string(number) + " of durations; there are " +
                          std::to_string(kClasses));
  }
  if (count == 0) return;
  classes_[number] += count;
  count_ += count;
}

void DurationHistogram::Merge(const DurationHistogram& other) {
  for (const auto& [number, count] : other.classes_) AddToClass(number, count);
}

double DurationHistogram::QuantileSeconds(double quantile) const {
  if (count_ == 0) return 0.0;
  const auto wanted = std::max<std::uint64_t>(
      1, static_cast<std::uint64_t>(std::ceil(quantile * static_cast<double>(count_))));
  std::uint64_t seen = 0;
  for (const auto& [number, count] : classes_) {
    seen += count;
    if (seen >= wanted) return SecondsOf(number);
  }
  return SecondsOf(classes_.rbegin()->first);
}

}  // namespace weir
