#pragma once

#include <functional>
#include <initializer_list>
#include <iosfwd>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace weir::bench {

/// The middle value; the mean of the two middle ones for an even count. `values` is not empty.
double Median(std::vector<double> values);

/// Wall-clock seconds of one call.
double Seconds(const std::function<void()>& work);

/// Calls every candidate in turn, `rounds` times over, each round in another order (the same ones
/// in every run), so that a disturbance, and what a candidate leaves in the caches, hits all alike.
/// Returns each one's seconds per round: [candidate][round].
std::vector<std::vector<double>> Interleave(int rounds,
                                            const std::vector<std::function<void()>>& candidates);

/// Median over rounds of time[i] / base[i]: what of two interleaved series a slow spell of the
/// machine does not move.
double MedianRatio(const std::vector<double>& time, const std::vector<double>& base);

/// What a benchmark found: rows of one table, and figures held against targets.
class Report {
 public:
  /// Columns keep the order in which they are written.
  using Row = nlohmann::ordered_json;

  explicit Report(std::string name) : name_(std::move(name)) {}

  /// A flat object of numbers and strings, the same keys in every row.
  void AddRow(Row row) { rows_.push_back(std::move(row)); }
  /// `op` is ">=" or "<=": what `value` should be to `target`.
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
