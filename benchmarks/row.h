#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace weir::bench {

/// A number or a text. Every type of integer has an alternative that keeps its sign.
using Value = std::variant<bool, int, unsigned, std::int64_t, std::uint64_t, double, std::string>;

/// A row of a table: values by the names of their columns, in the order in which they are written.
class Row {
 public:
  using Column = std::pair<std::string, Value>;

  Row(std::initializer_list<Column> columns) : columns_(columns) {}

  const std::vector<Column>& columns() const { return columns_; }
  /// Returns the value of a column. Throws std::out_of_range if there is none of that name.
  const Value& At(std::string_view column) const { return columns_[IndexOf(column)].second; }
  /// Replaces the value of a column. Throws as At.
  void Set(std::string_view column, Value value) {
    columns_[IndexOf(column)].second = std::move(value);
  }

 private:
  std::size_t IndexOf(std::string_view column) const;

  std::vector<Column> columns_;
};

}  // namespace weir::bench
