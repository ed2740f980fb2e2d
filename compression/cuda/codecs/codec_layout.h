#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "compression/cuda/tile_table.h"
#include "compression/gpu/gpu_rule.h"
#include "weir/dtype.h"

/// Data of a bucket's codecs, for their kernels.
namespace weir::cuda {

/// Elements of a block, in most kernels.
inline constexpr unsigned kCodecTile = 4096;

/// One tensor, for its whole life.
struct CodecTensor {
  float* momentum;  ///< Or null.
  float* error;     ///< Or null.
  std::uint64_t n;
  GpuCodecRule rule;
};

/// One tensor in a step; see GpuBucketCompressor::Input.
struct CodecInput {
  const void* gradient;
  DType dtype;
  float scale;
  float ratio;
  std::uint32_t k;
  std::int64_t step;
  std::int32_t rank;
  std::byte* payload;
};

/// The tensors of a bucket in a step.
struct CodecView {
  const CodecTensor* tensors;
  const CodecInput* parts;
  unsigned long long* non_finite;  ///< Entries so far.
  const Tile* tiles;               ///< Size: kCodecTile.
  std::size_t tile_count;
  const std::uint32_t* first_tiles;  ///< First tile of each tensor.
  std::size_t tensor_count;
};

/// A tensor's received payloads, and the place for its mean.
struct CodecMean {
  void* mean;  ///< Or null.
  DType dtype;
};
struct CodecMeans {
  const CodecMean* targets;          ///< By tensor.
  const std::byte* const* payloads;  ///< By tensor, then rank; or null.
  std::uint32_t ranks;
};

}  // namespace weir::cuda
