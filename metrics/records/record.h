#pragma once

#include <cstdint>

namespace weir {

/// What a record can be about: the stages of a bucket, in the order of the way of one gradient
/// (docs/explanation/buckets.md), and two intervals of the whole rank.
enum class Stage : std::uint8_t {
  kQueue,      ///< From the first submission of the bucket until it is complete on this rank.
  kNegotiate,  ///< From then until it is complete on all ranks; runs beside kPack and kCompress.
  kPack,
  kCompress,
  kExchange,
  kMerge,
  kUnpack,
  /// From BeginStep to the end of WaitStep, of the first and the last group of gradients that take
  /// the step together. Added after all records of the step's buckets.
  kStep,
  kRound,  ///< One negotiation round; only recorded for a timeline that marks cycles.
  /// One gradient of a step, from its submission until its delivery, without its stages.
  /// Added when its bucket is done.
  kGradient,
  /// The part that a gradient keeps back (ResidualRatio), in `density`; just before its
  /// kGradient, and only in some steps.
  kResidual,
};
/// The stages of a bucket come first.
inline constexpr int kBucketStageCount = 7;
inline constexpr int kStageCount = 11;

constexpr bool IsOfBucket(Stage stage) { return static_cast<int>(stage) < kBucketStageCount; }
constexpr bool IsOfGradient(Stage stage) {
  return stage == Stage::kGradient || stage == Stage::kResidual;
}

/// "queue", "negotiate", "pack", ...
const char* Name(Stage stage);

/// One stage of one bucket on one rank: the only source of displayed times. Fixed size, trivially
/// copyable. A stage adds its record before it hands the bucket on, so that the records of a bucket
/// are in order and a step's are complete when the step is.
struct StageRecord {
  std::int64_t start_ns = 0;  ///< CLOCK_MONOTONIC.
  std::int64_t end_ns = 0;
  std::int64_t step = -1;       ///< Optimizer step; -1 outside one.
  std::uint64_t bytes_in = 0;   ///< Bytes that the stage read.
  std::uint64_t bytes_out = 0;  ///< Bytes that it produced or sent.
  std::uint32_t bucket = 0;     ///< Its number in BucketNames, or the gradient's.
  float density = 1.0f;
  float threshold = 0.0f;
  Stage stage = Stage::kQueue;
  std::uint8_t route = 0;  ///< Index into BucketInfo::routes.
  bool ok = true;          ///< False: the stage failed.
};

}  // namespace weir
