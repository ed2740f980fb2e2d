#include "coordinator/servers/synchronous_bucket.h"

#include <algorithm>
#include <utility>

namespace weir {

SynchronousBucket::SynchronousBucket(Description description)
    : ServedBucket(std::move(description)), pushed_(workers()) {
  for (const Partition& partition : about().partitions) means_.emplace_back(partition.elements);
}

void SynchronousBucket::Take(int worker, std::span<const std::byte> frame,
                             std::vector<Answer>& due) {
  std::optional<Pushed>& place = pushed_.at(static_cast<std::size_t>(worker));
  if (place) Refuse(worker, "it was pushed twice in step " + std::to_string(place->step));
  Pushed pushed = Read(worker, frame);
  if (pushed.step <= last_step_) {
    Refuse(worker, "its step is " + std::to_string(pushed.step) + ", and step " +
                       std::to_string(last_step_) + " has been answered");
  }
  for (const auto& other : pushed_) {
    if (!other || other->step == pushed.step) continue;
    Refuse(worker, "its step is " + std::to_string(pushed.step) + ", that of other ranks " +
                       std::to_string(other->step));
  }
  place = std::move(pushed);
  if (!std::ranges::all_of(pushed_, &std::optional<Pushed>::has_value)) return;
  Add();
  for (int w = 0; w < about().workers; ++w) {
    due.push_back({w, std::span(answer_).first(answer_bytes_)});
  }
}

void SynchronousBucket::Add() {
  std::vector<std::span<const std::byte>> payloads(workers());
  for (std::size_t i = 0; i < partitions().size(); ++i) {
    std::ranges::transform(pushed_, payloads.begin(),
                           [i](const auto& pushed) { return pushed->payloads[i]; });
    partitions()[i].reader->MergeMean(payloads, means_[i]);
  }
  // All workers give the same step, except those that contribute nothing.
  const auto speaks = std::ranges::find(pushed_, false, [](const auto& p) { return p->empty; });
  if (speaks == pushed_.end()) Refuse(0, "no rank contributes anything");
  last_step_ = (*speaks)->step;
  answer_bytes_ = WriteAnswer(**speaks, 0, means_, answer_);
  std::ranges::fill(pushed_, std::nullopt);
}

}  // namespace weir
