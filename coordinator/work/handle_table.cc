#include "coordinator/work/handle_table.h"

#include <string>

#include "weir/error.h"

namespace weir {
namespace {

constexpr int kIndexBits = 32;

std::uint32_t IndexOf(Handle handle) { return static_cast<std::uint32_t>(handle); }
std::uint32_t GenerationOf(Handle handle) {
  return static_cast<std::uint32_t>(handle >> kIndexBits);
}

}  // namespace

Handle HandleTable::Create(std::uint32_t parts) {
  std::lock_guard lock(mutex_);
  if (free_.empty()) {
    free_.push_back(static_cast<std::uint32_t>(slots_.size()));
    slots_.emplace_back();
  }
  const std::uint32_t index = free_.back();
  free_.pop_back();
  Slot& slot = slots_[index];
  slot.live = true;
  slot.parts_left = parts;
  return (static_cast<Handle>(slot.generation) << kIndexBits) | index;
}

HandleTable::Slot* HandleTable::Find(Handle handle) {
  const std::uint32_t index = IndexOf(handle);
  if (index >= slots_.size()) return nullptr;
  Slot& slot = slots_[index];
  return slot.live && slot.generation == GenerationOf(handle) ? &slot : nullptr;
}

const HandleTable::Slot& HandleTable::FindOrThrow(Handle handle) const {
  const Slot* slot = const_cast<HandleTable*>(this)->Find(handle);
  if (slot == nullptr) {
    throw InvalidArgument("handle " + std::to_string(handle) +
                          " is unknown or was already waited for; wait for every handle once");
  }
  return *slot;
}

void HandleTable::Forget(std::uint32_t index) {
  Slot& slot = slots_[index];
  const std::uint32_t next = slot.generation + 1;
  slot = Slot{};
  slot.generation = next == 0 ? 1 : next;
  free_.push_back(index);
}

void HandleTable::CompleteLocked(Handle handle, const std::exception_ptr& error) {
  Slot* slot = Find(handle);
  if (slot == nullptr || slot->done) return;
  slot->done = error != nullptr || --slot->parts_left == 0;
  slot->error = error;
}

void HandleTable::Complete(Handle handle, const std::exception_ptr& error) {
  Complete(std::span<const Handle>(&handle, 1), error);
}

void HandleTable::Complete(std::span<const Handle> handles, const std::exception_ptr& error) {
  bool wake = false;
  {
    std::lock_guard lock(mutex_);
    for (const Handle handle : handles) CompleteLocked(handle, error);
    wake = waiters_ > 0;
  }
  if (wake) done_.notify_all();
}

bool HandleTable::Poll(Handle handle) const {
  std::lock_guard lock(mutex_);
  return FindOrThrow(handle).done;
}

bool HandleTable::IsKnown(Handle handle) const {
  std::lock_guard lock(mutex_);
  return const_cast<HandleTable*>(this)->Find(handle) != nullptr;
}

HandleTable::WaitResult HandleTable::Wait(Handle handle, Deadline deadline) {
  std::exception_ptr error;
  {
    std::unique_lock lock(mutex_);
    ++waiters_;
    bool done = false;
    try {
      done = done_.wait_until(lock, deadline, [&] { return FindOrThrow(handle).done; });
    } catch (...) {
      --waiters_;
      throw;
    }
    --waiters_;
    if (!done) return WaitResult::kDeadlinePassed;
    error = FindOrThrow(handle).error;
    Forget(IndexOf(handle));
  }
  if (error) std::rethrow_exception(error);
  return WaitResult::kDone;
}

void HandleTable::FailAll(const std::exception_ptr& error) {
  std::lock_guard lock(mutex_);
  for (std::uint32_t i = 0; i < slots_.size(); ++i) {
    if (slots_[i].live) {
      CompleteLocked((static_cast<Handle>(slots_[i].generation) << kIndexBits) | i, error);
    }
  }
  done_.notify_all();
}

}  // namespace weir
