#include "ops/grouped/fused_runs.h"

#include <algorithm>

namespace weir {

std::span<const std::size_t> FusedRuns::operator[](std::size_t i) const {
  const Run& run = runs_[i];
  return std::span(order_).subspan(run.end - run.count, run.count);
}

void FusedRuns::Plan(std::span<const Item> items) {
  runs_.clear();
  run_of_.clear();
  std::size_t planned = 0;
  for (const Item& item : items) {
    run_of_.push_back(item.bytes > 0 ? RunFor(item) : 0);
    if (item.bytes == 0) continue;
    Run& run = runs_[run_of_.back()];
    run.bytes += item.bytes;
    ++run.count;
    ++planned;
  }
  std::size_t end = 0;
  for (Run& run : runs_) {
    run.end = end;  // Moves on with every item added there.
    end += run.count;
  }
  order_.resize(planned);
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (items[i].bytes > 0) order_[runs_[run_of_[i]].end++] = i;
  }
}

std::size_t FusedRuns::RunFor(const Item& item) {
  const bool small = item.bytes <= kSmallBytes;
  const auto has_room = [&item](const Run& run) {
    return run.open && run.kind == item.kind && run.bytes + item.bytes <= kFusedBytes;
  };
  auto found = small ? std::ranges::find_if(runs_, has_room) : runs_.end();
  if (found == runs_.end()) {
    runs_.push_back({.kind = item.kind, .open = small});
    found = runs_.end() - 1;
  }
  return static_cast<std::size_t>(found - runs_.begin());
}

}  // namespace weir
