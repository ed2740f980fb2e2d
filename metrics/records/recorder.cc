#include "metrics/records/recorder.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <type_traits>

namespace weir {
namespace {

constexpr std::uint64_t Written(std::uint64_t number) { return 2 * (number + 1); }
constexpr std::uint64_t BeingWritten(std::uint64_t number) { return Written(number) - 1; }

}  // namespace

Recorder::Recorder(std::size_t capacity)
    : mask_(std::bit_ceil(std::max<std::size_t>(capacity, 2)) - 1),
      slots_(std::make_unique<Slot[]>(mask_ + 1)) {}

void Recorder::Add(const StageRecord& record) {
  static_assert(std::is_trivially_copyable_v<StageRecord>);
  std::array<std::uint64_t, kWords> words;
  std::memcpy(words.data(), &record, sizeof(record));

  const std::uint64_t number = next_.fetch_add(1, std::memory_order_relaxed);
  Slot& slot = slots_[number & mask_];
  // A writer that was suspended for a whole turn of the ring meets a newer record here, and the
  // newer one's writer may meet the suspended one. The second one gives its record up. That keeps a
  // slot with one writer, and the record's number counts as lost for every reader.
  std::uint64_t sequence = slot.sequence.load(std::memory_order_relaxed);
  const bool taken = sequence % 2 != 0 || sequence > Written(number);
  if (taken || !slot.sequence.compare_exchange_strong(sequence, BeingWritten(number),
                                                      std::memory_order_relaxed)) {
    return;
  }
  // Released one by one, so that a reader that sees any of them also sees the odd sequence. A fence
  // would do too, but ThreadSanitizer does not know fences.
  for (std::size_t i = 0; i < kWords; ++i) {
    slot.words[i].store(words[i], std::memory_order_release);
  }
  slot.sequence.store(Written(number), std::memory_order_release);
}

Recorder::SlotState Recorder::ReadSlot(std::uint64_t number, StageRecord& record) const {
  const Slot& slot = slots_[number & mask_];
  const std::uint64_t before = slot.sequence.load(std::memory_order_acquire);
  if (before > Written(number)) return SlotState::kGone;
  if (before < Written(number)) return SlotState::kNotYet;
  std::array<std::uint64_t, kWords> words;
  for (std::size_t i = 0; i < kWords; ++i) words[i] = slot.words[i].load(std::memory_order_acquire);
  if (slot.sequence.load(std::memory_order_relaxed) != before) return SlotState::kGone;
  std::memcpy(static_cast<void*>(&record), words.data(), sizeof(record));
  return SlotState::kHolds;
}

Recorder::ReadResult Recorder::Read(std::uint64_t from, std::span<StageRecord> out) const {
  const std::uint64_t end = added();
  ReadResult result{.next = from};
  if (end > from + capacity()) {
    result.next = end - capacity();
    result.lost = result.next - from;
  }
  while (result.next < end && result.count < out.size()) {
    const SlotState state = ReadSlot(result.next, out[result.count]);
    // The record's writer is at work, and order matters more than haste. But a record that was
    // given up never comes; half a turn later the reader stops waiting for it.
    if (state == SlotState::kNotYet && end - result.next < capacity() / 2) break;
    if (state == SlotState::kHolds) {
      ++result.count;
    } else {
      ++result.lost;
    }
    ++result.next;
  }
  return result;
}

Recorder::ReadResult Recorder::ReadNewest(std::span<StageRecord> out) const {
  const std::uint64_t end = added();
  return Read(end - std::min<std::uint64_t>(end, out.size()), out);
}

}  // namespace weir
