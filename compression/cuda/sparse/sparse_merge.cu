#include <algorithm>
#include <cub/cub.cuh>

#include "compression/cuda/gradient_types.h"
#include "compression/cuda/launch.h"
#include "compression/cuda/sparse/sparse_merge.h"
#include "compression/cuda/value_bytes.h"
#include "compression/wire/index_bytes.h"
#include "compression/wire/index_coding.h"
#include "compression/wire/sparse_payload.h"
#include "compression/wire/value_coding.h"

namespace weir::cuda {
namespace {

using Scan = cub::BlockScan<std::uint32_t, kThreads>;

/// Decoded entries, one part after the other.
struct Entries {
  std::uint32_t* indices;
  float* values;
};

/// The low bits of entry i of an Elias-Fano code.
__device__ std::uint32_t LowBits(const std::byte* low, const EliasFanoLayout& layout,
                                 std::size_t i) {
  const std::size_t bit = i * layout.low_bits;
  std::uint64_t word = WordAt(low, bit / 8, layout.low_bytes);
  word |= static_cast<std::uint64_t>(WordAt(low, bit / 8 + 4, layout.low_bytes)) << 32;
  const std::uint64_t mask = (std::uint64_t{1} << layout.low_bits) - 1;
  return static_cast<std::uint32_t>(word >> bit % 8 & mask);
}

/// One block per part. A thread counts the marks of one word, so that each knows its own entries.
__global__ void __launch_bounds__(kThreads)
    DecodeKernel(const SparseTensor* tensors, const SparseMerge::Source* sources,
                 std::uint32_t ranks, Entries out) {
  __shared__ typename Scan::TempStorage storage;
  const SparseTensor& tensor = tensors[blockIdx.x / ranks];
  const SparseMerge::Source source = sources[blockIdx.x];
  if (source.entries == 0) return;
  const std::size_t k = source.entries;
  const bool is_bitmap = FixedIndexCoding(tensor.n, k) == IndexCoding::kBitmap;
  const EliasFanoLayout layout(tensor.n, k);
  const std::byte* const low = source.payload + kSparseHeaderBytes;
  const std::byte* const marks = is_bitmap ? low : low + layout.low_bytes;
  const std::size_t mark_bytes = is_bitmap ? BitmapBytes(tensor.n) : layout.high_bytes;
  const std::byte* const values = low + MaxIndexBytes(tensor.n, k);
  const float factor = PowerOfTwo(ExponentIn(source.payload));

  std::uint32_t entries = 0;  // Before this round's.
  for (std::size_t first = 0; first < mark_bytes; first += kThreads * 4) {
    const std::size_t at = first + threadIdx.x * 4;
    std::uint32_t word = WordAt(marks, at, mark_bytes);
    std::uint32_t before = 0;
    std::uint32_t sum = 0;
    Scan(storage).ExclusiveSum(static_cast<std::uint32_t>(__popc(word)), before, sum);
    std::size_t i = std::size_t{entries} + before;
    for (; word != 0; word &= word - 1, ++i) {
      const std::size_t mark = at * 8 + static_cast<unsigned>(__ffs(static_cast<int>(word))) - 1;
      const std::size_t index =
          is_bitmap ? mark : (mark - i) << layout.low_bits | LowBits(low, layout, i);
      // Nobody has checked a payload that came over NCCL.
      if (i >= k || index >= tensor.n) break;
      out.indices[source.first + i] = static_cast<std::uint32_t>(index);
      out.values[source.first + i] = DecodedValue(values, i, tensor.values, factor);
    }
    entries += sum;
    __syncthreads();  // The scan's memory is free again.
  }
}

/// One block per tile.
__global__ void __launch_bounds__(kThreads)
    MergeKernel(const SparseTensor* tensors, const std::uint32_t* tile_tensors,
                const SparseMerge::Source* sources, const SparseMerge::Target* targets,
                std::uint32_t ranks, Entries entries) {
  __shared__ float sums[kTile];
  __shared__ std::uint32_t bounds[2][kThreads];  // Ranges of the ranks' entries here.
  const std::uint32_t index = tile_tensors[blockIdx.x];
  const SparseTensor& tensor = tensors[index];
  const SparseMerge::Target target = targets[index];
  if (target.mean == nullptr) return;
  const std::size_t begin = std::size_t{blockIdx.x - tensor.first_tile} * kTile;
  const std::size_t end = std::min<std::size_t>(begin + kTile, tensor.n);
  for (unsigned i = threadIdx.x; i < kTile; i += kThreads) sums[i] = 0.0f;
  for (std::uint32_t first = 0; first < ranks; first += kThreads) {
    __syncthreads();
    if (first + threadIdx.x < ranks) {
      const SparseMerge::Source source = sources[std::size_t{index} * ranks + first + threadIdx.x];
      const std::uint32_t* const indices = entries.indices + source.first;
      const auto at = [&](std::size_t i) { return std::size_t{indices[i]}; };
      bounds[0][threadIdx.x] = static_cast<std::uint32_t>(FirstNotBelow(at, source.entries, begin));
      bounds[1][threadIdx.x] = static_cast<std::uint32_t>(FirstNotBelow(at, source.entries, end));
    }
    for (std::uint32_t rank = first; rank < std::min(first + kThreads, ranks); ++rank) {
      __syncthreads();  // In rank order.
      const std::uint64_t from = sources[std::size_t{index} * ranks + rank].first;
      for (std::uint32_t i = bounds[0][rank - first] + threadIdx.x; i < bounds[1][rank - first];
           i += kThreads) {
        const std::size_t place = entries.indices[from + i] - begin;
        if (place < kTile) sums[place] += entries.values[from + i];
      }
    }
  }
  __syncthreads();
  const auto divisor = static_cast<float>(ranks);
  for (std::size_t i = threadIdx.x; begin + i < end; i += kThreads) {
    float mean = sums[i] / divisor;
    if (target.gain != 1.0f) mean /= target.gain;
    SetValue(target.mean, begin + i, target.dtype, mean);
  }
}

}  // namespace

SparseMerge::SparseMerge() {
  Load(DecodeKernel);
  Load(MergeKernel);
}

void SparseMerge::Reserve(std::size_t tensors, std::size_t ranks, std::size_t entries,
                          cudaStream_t stream) {
  const bool fits = sources_.size() == tensors * ranks && targets_.size() == tensors &&
                    indices_.size() >= entries && values_.size() >= entries;
  if (fits) return;
  Check(cudaStreamSynchronize(stream));  // The stream may still read what is freed here.
  sources_ = SharedArray<Source>(tensors * ranks);
  targets_ = SharedArray<Target>(tensors);
  indices_ = DeviceArray<std::uint32_t>(entries);
  values_ = DeviceArray<float>(entries);
}

void SparseMerge::Run(const SparseBucketView& bucket, std::span<const GpuMean> means,
                      cudaStream_t stream) {
  if (means.size() != bucket.tensor_count) throw std::runtime_error("not one mean for each tensor");
  const std::size_t ranks = means.front().payloads.size();
  std::size_t entries = 0;
  for (const GpuMean& mean : means) {
    for (const GpuMean::Payload& payload : mean.payloads) entries += payload.entries;
  }
  Reserve(means.size(), ranks, entries, stream);
  std::size_t first = 0;
  for (std::size_t i = 0; i < means.size(); ++i) {
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      const GpuMean::Payload& payload = means[i].payloads[rank];
      sources_.host()[i * ranks + rank] = {payload.bytes, payload.entries, first};
      first += payload.entries;
    }
    targets_.host()[i] = {means[i].mean, means[i].gain, means[i].dtype};
  }
  sources_.Upload(stream);
  targets_.Upload(stream);
  const Entries decoded{indices_.data(), values_.data()};
  const auto senders = static_cast<std::uint32_t>(ranks);
  Launch(DecodeKernel, means.size() * ranks, stream, bucket.tensors, sources_.device(), senders,
         decoded);
  Launch(MergeKernel, bucket.tiles, stream, bucket.tensors, bucket.scratch.tile_tensors,
         sources_.device(), targets_.device(), senders, decoded);
}

}  // namespace weir::cuda
