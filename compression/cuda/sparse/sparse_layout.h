#pragma once

#include <cstddef>
#include <cstdint>

#include "compression/dgc/masking.h"
#include "compression/dgc/threshold_tracker.h"
#include "compression/wire/value_type.h"
#include "weir/dtype.h"

/// Division of work between the kernels that send the largest entries of a bucket, and the data
/// that they leave for each other.
namespace weir::cuda {

/// Elements of a block in the pass over gradient, u and v. A tile belongs to one tensor; the last
/// one of a tensor may be short.
inline constexpr unsigned kTile = 4096;
inline constexpr unsigned kTileWords = kTile / 32;

/// Tiles of one tensor that a block of the selection takes: so many that a GPU runs all its blocks
/// at once, and at least kMinRunTiles.
inline constexpr unsigned kMostRuns = 1024;
inline constexpr unsigned kMinRunTiles = 16;

/// The selection finds the key (MagnitudeKey) of the k-th largest by histograms of its upper 11
/// bits, of the next 10 and of the last 10.
inline constexpr unsigned kLevels = 3;
inline constexpr unsigned kBins = 2048;

/// One histogram per level, and one more of level 1, in which the 2 k-th largest is looked for.
inline constexpr unsigned kTwice = kLevels;
inline constexpr unsigned kHistograms = kLevels + 1;

/// One tensor, for its whole life.
struct SparseTensor {
  void* u;      ///< DGC's momentum, or null.
  void* v;      ///< The accumulated values, of which the largest are sent.
  DType state;  ///< Type of both: kFloat32 or kBFloat16.
  std::uint32_t seed;
  std::uint64_t n;
  std::uint32_t first_tile;  ///< In the bucket.
  std::uint32_t tiles;
  std::uint32_t first_run;
  std::uint32_t runs;
  std::uint32_t run_tiles;  ///< Tiles of each run but the last.
  Momentum momentum;
  float m;
  Masking masking;
  bool adds_back;  ///< See SparseBucket.
  ValueType values;
};

/// TailOf, which is 0 without momentum.
constexpr float TailOfTensor(const SparseTensor& tensor) {
  return tensor.u == nullptr ? 0.0f : TailOf(tensor.masking, tensor.m);
}

/// One tensor in a step.
struct SparseInput {
  const void* gradient;
  DType dtype;  ///< Type of the gradient.
  float scale;
  std::uint32_t k;
  std::uint32_t first_candidate;  ///< First place of its room in the lists of candidates.
  std::uint32_t capacity;         ///< Size of that room; 0 where candidates do not pay.
  std::uint32_t first_winner;     ///< First of its k places in the lists of winners.
  std::uint32_t rounding;         ///< RoundingKey.
  std::byte* payload;
};

/// Threshold at which the pass marks. Without a guess it is above all numbers, so that few entries
/// are marked and the selection reads v itself.
constexpr float ThresholdOf(const ThresholdTracker& tracker, const SparseInput& part) {
  const float above_all = MagnitudeOfKey(kInfinityKey);
  return part.capacity == 0 ? above_all : tracker.Next(part.k).value_or(above_all);
}

/// Keys still in question after a level: those whose upper bits are `prefix`;
/// the `rank` largest of them win.
struct SparseCut {
  std::uint32_t prefix;
  std::uint32_t rank;
};

/// Results of the kernels about one tensor.
struct SparseStatus {
  ThresholdTracker tracker;
  unsigned long long non_finite;
  SparseCut cuts[kLevels];
  SparseCut twice;           ///< The first of the 2 k-th largest.
  float rank_2k;             ///< The magnitude of about that rank.
  std::uint32_t kth;         ///< Key of the k-th largest.
  std::uint32_t largest;     ///< Largest finite key of the winners.
  std::uint32_t candidates;  ///< As the accumulating pass counted them.
  bool all;                  ///< The selection reads v itself.

  /// Number of entries that the selection has read.
  constexpr std::uint32_t seen(const SparseTensor& tensor) const {
    return all ? static_cast<std::uint32_t>(tensor.n) : candidates;
  }
};

/// The lists and counts between the kernels; all in the memory of the GPU.
struct SparseScratch {
  std::uint32_t* marks;         ///< One bit an element, tile after tile: it reaches the threshold.
  std::uint32_t* tile_counts;   ///< Counts of marks; a 0 follows the last.
  std::uint32_t* tile_offsets;  ///< The sums before each.
  std::uint32_t* tile_tensors;  ///< Tensor that a tile belongs to.
  std::uint32_t* run_tensors;   ///< Tensor that a run belongs to.
  std::uint32_t* candidate_indices;
  float* candidate_values;
  std::uint32_t* histograms;        ///< kHistograms * kBins for each tensor; 0 before a step.
  unsigned long long* run_counts;   ///< Winners above the k-th << 32 | ties; a 0 follows the last.
  unsigned long long* run_offsets;  ///< The sums before each.
  std::uint32_t* winner_indices;
  float* winner_values;
  float* old_u;  ///< The undo log, beside the winners.
  float* old_v;
};

/// A bucket in a step, for kernels.
struct SparseBucketView {
  const SparseTensor* tensors;
  const SparseInput* parts;
  SparseStatus* statuses;
  SparseScratch scratch;
  std::uint32_t tensor_count;
  std::uint32_t tiles;
  std::uint32_t runs;
};

}  // namespace weir::cuda
