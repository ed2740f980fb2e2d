#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace weir::monitor {

/// Rows of an endless time in bounded memory: the newest one by one, and before them rows
/// that each stand for several, equally many everywhere. A `Row` has a `std::uint32_t count`
/// of rows it stands for, 1 at first, and `void Join(const Row& later)`, which makes it
/// stand for both. Not thread-safe.
template <typename Row>
class BoundedRows {
 public:
  /// `most`: rows. At least a quarter as many of the newest stand for themselves.
  explicit BoundedRows(std::size_t most) : most_(most) {}

  void Add(const Row& row) {
    rows_.push_back(row);
    if (rows_.size() > most_) Coarsen();
  }
  const std::vector<Row>& rows() const { return rows_; }

 private:
  /// Merges rows of the older half of those that stand for themselves.
  void Coarsen() {
    if (coarse_ == 0 || coarse_ > most_ / 4) joined_ *= 2;
    const std::size_t stop = coarse_ + (rows_.size() - coarse_) / 2;
    std::size_t to = 0;
    for (std::size_t from = 0; from < stop; ++to) {
      Row row = rows_[from++];
      while (from < stop && row.count + rows_[from].count <= joined_) row.Join(rows_[from++]);
      rows_[to] = row;
    }
    rows_.erase(rows_.begin() + static_cast<std::ptrdiff_t>(to),
                rows_.begin() + static_cast<std::ptrdiff_t>(stop));
    coarse_ = to;
  }

  std::size_t most_;
  std::vector<Row> rows_;
  std::size_t coarse_ = 0;  ///< The first rows, which stand for up to `joined_`.
  std::uint32_t joined_ = 1;
};

}  // namespace weir::monitor
