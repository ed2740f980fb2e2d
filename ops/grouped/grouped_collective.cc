#include "ops/grouped/grouped_collective.h"

namespace weir {

void GroupedCollective::Plan(std::span<const FusedRuns::Item> items) { runs_.Plan(items); }

void GroupedCollective::Start(std::uint32_t operation) {
  operation_ = operation;
  current_ = 0;
  limit_ = kUnlimited;
  if (runs_.size() > 0) StartRun();
}

void GroupedCollective::StartRun() {
  const auto arrays = runs_[current_];
  run_ = arrays.size() == 1 ? &BindArray(arrays.front()) : &BindFused(arrays);
  // Every run has the operation's one number. Messages of the same tag arrive in order, and no rank
  // asks for one of the next run before it has all of this one.
  run_->Start(operation_);
  run_->Limit(limit_);
}

void GroupedCollective::Limit(std::size_t bytes) {
  limit_ = bytes;
  if (run_ != nullptr) run_->Limit(bytes);
}

bool GroupedCollective::Poll() {
  while (current_ < runs_.size()) {
    if (!run_->Poll()) return false;
    const auto arrays = runs_[current_];
    if (arrays.size() > 1) UnpackFused(arrays);
    if (++current_ < runs_.size()) StartRun();
  }
  return true;
}

void GroupedCollective::Cancel() {
  if (run_ != nullptr) run_->Cancel();
}

std::span<std::byte> GroupedCollective::ResizeFused(std::size_t bytes) {
  if (fused_.size() < bytes) fused_.resize(bytes);
  return std::span(fused_).first(bytes);
}

}  // namespace weir
