#include "ops/grouped_allreduce.h"

#include <algorithm>
#include <cstring>

namespace weir {

void GroupedAllreduce::Bind(std::span<const Array> arrays, const Reduction& reduction) {
  reduction_ = reduction;
  runs_.clear();
  for (const Array& array : arrays) {
    CheckReduction(array.dtype, reduction);
    if (array.elements == 0) continue;
    Run& run = RunFor(array);
    run.arrays.push_back(array);
    run.bytes += array.bytes();
  }
}

GroupedAllreduce::Run& GroupedAllreduce::RunFor(const Array& array) {
  const auto has_room = [&](const Run& run) {
    return run.arrays.front().dtype == array.dtype && run.bytes + array.bytes() <= kFusedBytes &&
           run.arrays.front().bytes() <= kSmallBytes;
  };
  if (array.bytes() <= kSmallBytes) {
    const auto found = std::ranges::find_if(runs_, has_room);
    if (found != runs_.end()) return *found;
  }
  return runs_.emplace_back();
}

void GroupedAllreduce::Start(std::uint32_t operation) {
  operation_ = operation;
  current_ = 0;
  if (!runs_.empty()) StartRun();
}

void GroupedAllreduce::StartRun() {
  const Run& run = runs_[current_];
  const Array& first = run.arrays.front();
  if (run.arrays.size() == 1) {
    allreduce_.Bind(first.in, first.out, first.elements, first.dtype, reduction_);
  } else {
    if (fused_.size() < run.bytes) fused_.resize(run.bytes);
    std::byte* at = fused_.data();
    for (const Array& array : run.arrays) {
      std::memcpy(at, array.in, array.bytes());
      at += array.bytes();
    }
    allreduce_.Bind(fused_.data(), fused_.data(),
                    static_cast<std::int64_t>(run.bytes / SizeOf(first.dtype)), first.dtype,
                    reduction_);
  }
  // Every run has the operation's one number: messages of the same tag arrive in order, and no rank
  // asks for one of the next run before it has all of this one.
  allreduce_.Start(operation_);
}

bool GroupedAllreduce::Poll() {
  while (current_ < runs_.size()) {
    if (!allreduce_.Poll()) return false;
    Unpack(runs_[current_]);
    if (++current_ < runs_.size()) StartRun();
  }
  return true;
}

void GroupedAllreduce::Unpack(const Run& run) {
  if (run.arrays.size() == 1) return;
  const std::byte* at = fused_.data();
  for (const Array& array : run.arrays) {
    std::memcpy(array.out, at, array.bytes());
    at += array.bytes();
  }
}

}  // namespace weir
