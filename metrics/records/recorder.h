#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "metrics/records/record.h"

namespace weir {

/// A ring of the newest records. Any thread adds. Any number of readers follow at their own pace
/// and learn how many records they missed. A reader never holds up a writer.
///
/// Thread-safe, without locks; Add does not allocate and never waits. Each slot is a seqlock
/// (Boehm, "Can seqlocks get along with programming language memory models?", 2012) whose sequence
/// number also identifies its record.
class Recorder {
 public:
  /// Keeps the newest `capacity` records, rounded up to a power of two, 64 bytes each.
  explicit Recorder(std::size_t capacity = 1 << 16);

  void Add(const StageRecord& record);

  struct ReadResult {
    std::uint64_t next = 0;  ///< Pass it as `from` the next time.
    std::uint64_t lost = 0;  ///< Records between `from` and `next` that were overwritten unread.
    std::size_t count = 0;   ///< Records written to `out`; 0 when there are none yet.
  };

  /// Copies records into `out`, oldest first, beginning with number `from` (0: the first one ever).
  ReadResult Read(std::uint64_t from, std::span<StageRecord> out) const;
  /// Reads the newest records, as many as `out` holds.
  ReadResult ReadNewest(std::span<StageRecord> out) const;

  /// Number of records that have been added.
  std::uint64_t added() const { return next_.load(std::memory_order_relaxed); }
  std::size_t capacity() const { return mask_ + 1; }

 private:
  static constexpr std::size_t kWords = sizeof(StageRecord) / sizeof(std::uint64_t);
  static_assert(sizeof(StageRecord) == kWords * sizeof(std::uint64_t));

  // `sequence` is 2 * (number + 1) when record `number` is in the slot, one less while it is being
  // written, and 0 at first.
  struct alignas(64) Slot {
    std::atomic<std::uint64_t> sequence{0};
    std::array<std::atomic<std::uint64_t>, kWords> words{};
  };
  static_assert(sizeof(Slot) == 64);

  enum class SlotState { kHolds, kNotYet, kGone };
  SlotState ReadSlot(std::uint64_t number, StageRecord& record) const;

  const std::size_t mask_;
  const std::unique_ptr<Slot[]> slots_;
  alignas(64) std::atomic<std::uint64_t> next_{0};
};

}  // namespace weir
