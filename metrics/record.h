#pragma once

#include <cstdint>

namespace weir {

/// The stages of a bucket, in the order of the way of one gradient (docs/design.md).
enum class Stage : std::uint8_t { kQueue, kNegotiate, kPack, kCompress, kExchange, kMerge, kUnpack };
inline constexpr int kStageCount = 7;

/// "queue", "negotiate", "pack", ...
const char* Name(Stage stage);

/// One stage of one bucket on one rank: the only source of what is shown about time. Fixed size,
/// trivially copyable.
struct StageRecord {
  std::int64_t start_ns = 0;  ///< CLOCK_MONOTONIC.
  std::int64_t end_ns = 0;
  std::int64_t step = -1;       ///< Optimizer step; -1 outside one.
  std::uint64_t bytes_in = 0;   ///< What the stage read.
  std::uint64_t bytes_out = 0;  ///< What the stage produced or sent.
  std::uint32_t bucket = 0;     ///< Index into the names given to the recorder's readers.
  float density = 1.0f;
  float threshold = 0.0f;
  Stage stage = Stage::kQueue;
};

}  // namespace weir
