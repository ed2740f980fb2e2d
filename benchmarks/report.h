#pragma once

#include <functional>
#include <iosfwd>
#include <string>
#include <utility>
#include <vector>

#include "benchmarks/row.h"

namespace weir::bench {

/// Returns the middle value, or the mean of the two middle ones. `values` must not be empty.
double Median(std::vector<double> values);

/// Wall-clock seconds of one call.
double Seconds(const std::function<void()>& work);

/// Calls every candidate in turn, `rounds` times, each round in a different order (the same ones in
/// every run), so that a disturbance, and data that a candidate leaves in the caches, affects all
/// alike. Returns each one's seconds per round: [candidate][round].
std::vector<std::vector<double>> Interleave(int rounds,
                                            const std::vector<std::function<void()>>& candidates);

/// Median over rounds of time[i] / base[i]: a ratio of two interleaved series that a slow spell
/// of the machine does not change.
double MedianRatio(const std::vector<double>& time, const std::vector<double>& base);

/// Results of a benchmark: rows of one table, and figures with targets.
class Report {
 public:
  explicit Report(std::string name) : name_(std::move(name)) {}

  /// Adds a row; all have the same columns.
  void AddRow(Row row) { rows_.push_back(std::move(row)); }
  /// `op` is ">=" or "<=": the wanted relation of `value` to `target`.
  void AddTarget(const std::string& name, double value, const std::string& op, double target);

  /// Title, machine, table, targets.
  void Print(std::ostream& out) const;
  /// {"name", "machine", "rows": [...], "targets": [{"name", "value", "op", "target", "met"}]}.
  /// Throws std::runtime_error when the file cannot be written.
  void WriteJson(const std::string& path) const;

 private:
  struct Target {
    std::string name;
    double value;
    std::string op;
    double target;
    bool met;
  };

  std::string name_;
  std::vector<Row> rows_;
  std::vector<Target> targets_;
};

}  // namespace weir::bench
