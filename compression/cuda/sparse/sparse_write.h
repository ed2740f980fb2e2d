#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "compression/cuda/sparse/sparse_layout.h"

namespace weir::cuda {

/// Work of one block of the writing kernel.
struct WriteJob {
  enum class Kind : std::uint32_t { kHeader, kIndices, kValues };
  std::uint32_t tensor;
  Kind kind;
  std::uint64_t first;  ///< Byte of the indices, or winner.
};

/// Adds the jobs that write a part of k of n entries.
void AppendJobs(std::uint32_t tensor, std::size_t n, std::size_t k, std::vector<WriteJob>& jobs);

/// Writes the winners as sparse parts (compression/wire/sparse_payload.h; the same bytes),
/// subtracts them from v and u, and logs that for PutBack.
void WriteParts(const SparseBucketView& bucket, const WriteJob* jobs, std::size_t count,
                cudaStream_t stream);

/// Undoes the subtraction of WriteParts.
void PutBack(const SparseBucketView& bucket, const WriteJob* jobs, std::size_t count,
             cudaStream_t stream);

}  // namespace weir::cuda
