#pragma once

#include <cstdint>
#include <map>

namespace weir {

/// Counts durations in bounded memory: at most 2,176 classes, each 1/64 of a power of two wide, so
/// that a quantile is right within 0.8 %. The range is a microsecond to five hours; shorter and
/// longer durations count as its ends. Not thread-safe.
class DurationHistogram {
 public:
  static constexpr int kClasses = 34 * 64;

  void Add(std::int64_t ns) { AddToClass(ClassOf(ns), 1); }
  /// Throws InvalidArgument for a class that does not exist.
  void AddToClass(int number, std::uint64_t count);
  void Merge(const DurationHistogram& other);

  std::uint64_t count() const { return count_; }
  /// Shortest duration that a fraction `quantile` of all, at least one, do not exceed; 0 if empty.
  double QuantileSeconds(double quantile) const;
  /// The classes that are not empty, for writing them down.
  const std::map<int, std::uint64_t>& classes() const { return classes_; }

  static int ClassOf(std::int64_t ns);
  /// The middle of a class.
  static double SecondsOf(int number);

 private:
  std::map<int, std::uint64_t> classes_;
  std::uint64_t count_ = 0;
};

}  // namespace weir
