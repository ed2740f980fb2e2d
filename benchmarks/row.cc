#include "benchmarks/row.h"

#include <algorithm>
#include <stdexcept>

namespace weir::bench {

std::size_t Row::IndexOf(std::string_view column) const {
  const auto found = std::ranges::find(columns_, column, &Column::first);
  if (found == columns_.end()) throw std::out_of_range("no column " + std::string(column));
  return static_cast<std::size_t>(found - columns_.begin());
}

}  // namespace weir::bench
