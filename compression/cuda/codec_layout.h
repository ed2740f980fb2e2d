#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "compression/cuda/tile_table.h"
#include "compression/gpu_rule.h"
#include "weir/dtype.h"

/// What the kernels of a bucket's codecs know.
namespace weir::cuda {

/// Elements of a block, in most of them.
inline constexpr unsigned kCodecTile = 4096;
/// The same where a block adds up in a fixed order.
inline constexpr unsigned kSumTile = 1u << 16;

/// One tensor, as long as it lives.
struct CodecTensor {
  float* momentum;  ///< Or null.
  float* error;     ///< Or null.
  std::uint64_t n;
  GpuCodecRule rule;
};

/// One tensor in a step; see GpuBucketCompressor::Part.
struct CodecPart {
  const void* gradient;
  DType dtype;
  float scale;
  float ratio;
  std::byte* payload;
};

/// The tensors of one codec in a step.
struct CodecView {
  const CodecTensor* tensors;  ///< All of the bucket, and so with what lies by tensor.
  const CodecPart* parts;
  unsigned long long* non_finite;  ///< Entries so far.
  const Tile* tiles;               ///< Of this codec's, of kCodecTile.
  std::size_t tile_count;
  const std::uint32_t* members;  ///< Its tensors.
  std::size_t member_count;
  // Tiles of kSumTile, for those codecs that add up.
  const Tile* sum_tiles;
  std::size_t sum_tile_count;
  const std::uint32_t* first_sums;  ///< By tensor, the place of its first tile's sum.
  double* sums;
};

/// What was received, and where means go.
struct CodecMean {
  void* mean;  ///< Or null.
  DType dtype;
};
struct CodecMeans {
  const CodecMean* targets;          ///< By tensor.
  const std::byte* const* payloads;  ///< By tensor, then rank; or null.
  std::uint32_t ranks;
};

/// What one codec does, for all tensors that have it.
struct CodecLaunches {
  /// Takes the gradients into the memory, writes the payloads, and leaves in the errors what these
  /// lack.
  void (*encode)(const CodecView& view, cudaStream_t stream);
  /// Adds what the payloads decode to to the errors.
  void (*put_back)(const CodecView& view, cudaStream_t stream);
  /// Compressor::MergeMean, and its Finish outside the dense phase.
  void (*merge)(const CodecView& view, const CodecMeans& means, cudaStream_t stream);
};
extern const CodecLaunches kCastLaunches;
extern const CodecLaunches kInt8Launches;
extern const CodecLaunches kOneBitLaunches;

}  // namespace weir::cuda
