#include <algorithm>
#include <cub/cub.cuh>

#include "compression/cuda/gradient_types.h"
#include "compression/cuda/launch.h"
#include "compression/cuda/sparse/sparse_select.h"

namespace weir::cuda {
namespace {

using Scan = cub::BlockScan<std::uint32_t, kThreads>;
using PairScan = cub::BlockScan<unsigned long long, kThreads>;

/// Number of key bits below those of level 0, 1 or 2, and of values that the level's bits have.
template <unsigned kLevel>
constexpr unsigned kShift = 20 - 10 * kLevel;
template <unsigned kLevel>
constexpr unsigned kBinsOf = kLevel == 0 ? 2048 : 1024;

/// A run's share of the entries that the selection reads.
struct Source {
  const void* values;
  const void* momenta;           ///< Beside the values, of their type; used where `tail` is not 0.
  float tail;                    ///< See WithTail.
  DType dtype;                   ///< Type of the values.
  const std::uint32_t* indices;  ///< Null where value i is of element first_index + i.
  std::uint32_t first_index;
  std::uint32_t count;

  __device__ float Value(std::uint32_t i) const {
    const float value = ValueAt(values, i, dtype);
    return tail == 0.0f ? value : WithTail(tail, ValueAt(momenta, i, dtype), value);
  }
};

/// A block's tensor and run.
struct Run {
  std::uint32_t tensor_index;
  SparseTensor tensor;
  SparseInput part;
  std::uint32_t first_tile;  ///< In the bucket.
  std::uint32_t end_tile;
  bool all;  ///< The selection reads u and v themselves.
  bool is_first;
};

__device__ std::uint32_t CandidatesBefore(const SparseBucketView& bucket,
                                          const SparseTensor& tensor, std::uint32_t tile) {
  // The sums go over all tensors and may wrap: differences within one do not.
  return bucket.scratch.tile_offsets[tile] - bucket.scratch.tile_offsets[tensor.first_tile];
}

__device__ Run RunOfBlock(const SparseBucketView& bucket) {
  Run run;
  run.tensor_index = bucket.scratch.run_tensors[blockIdx.x];
  run.tensor = bucket.tensors[run.tensor_index];
  run.part = bucket.parts[run.tensor_index];
  const SparseTensor& tensor = run.tensor;
  const std::uint32_t number = blockIdx.x - tensor.first_run;
  const std::uint32_t end = tensor.first_tile + tensor.tiles;
  run.first_tile = tensor.first_tile + number * tensor.run_tiles;
  run.end_tile = std::min(run.first_tile + tensor.run_tiles, end);
  run.is_first = number == 0;
  const std::uint32_t candidates = CandidatesBefore(bucket, tensor, end);
  run.all = candidates < run.part.k || candidates > run.part.capacity;
  return run;
}

__device__ Source SourceOf(const SparseBucketView& bucket, const Run& run) {
  const SparseTensor& tensor = run.tensor;
  if (run.all) {
    const std::size_t begin = std::size_t{run.first_tile - tensor.first_tile} * kTile;
    const std::size_t end = std::size_t{run.end_tile - tensor.first_tile} * kTile;
    const float tail = TailOfTensor(tensor);
    return {PlaceOf(tensor.v, begin, tensor.state),
            tail == 0.0f ? nullptr : PlaceOf(tensor.u, begin, tensor.state),
            tail,
            tensor.state,
            nullptr,
            static_cast<std::uint32_t>(begin),
            static_cast<std::uint32_t>(std::min<std::size_t>(end, tensor.n) - begin)};
  }
  const std::uint32_t before = CandidatesBefore(bucket, tensor, run.first_tile);
  const std::uint32_t first = run.part.first_candidate + before;
  return {bucket.scratch.candidate_values + first,
          nullptr,
          0.0f,
          DType::kFloat32,
          bucket.scratch.candidate_indices + first,
          0,
          CandidatesBefore(bucket, tensor, run.end_tile) - before};
}

__device__ std::uint32_t* HistogramOf(const SparseBucketView& bucket, const Run& run,
                                      unsigned level) {
  return bucket.scratch.histograms + (std::size_t{run.tensor_index} * kHistograms + level) * kBins;
}

/// Writes what a run's tiles have marked into the list of candidates, in index order: a warp a
/// tile.
__device__ void Gather(const SparseBucketView& bucket, const Run& run) {
  const unsigned lane = threadIdx.x % kWarp;
  const float tail = TailOfTensor(run.tensor);
  constexpr unsigned kWordsOfLane = kTileWords / kWarp;
  for (std::uint32_t tile = run.first_tile + threadIdx.x / kWarp; tile < run.end_tile;
       tile += kThreads / kWarp) {
    const std::size_t first_word = std::size_t{tile} * kTileWords + lane * kWordsOfLane;
    std::uint32_t words[kWordsOfLane];
    unsigned count = 0;
    for (unsigned w = 0; w < kWordsOfLane; ++w) {
      words[w] = bucket.scratch.marks[first_word + w];
      count += static_cast<unsigned>(__popc(words[w]));
    }
    unsigned sum = count;  // Sum over the lanes up to this one.
    for (unsigned distance = 1; distance < kWarp; distance *= 2) {
      const unsigned left = __shfl_up_sync(kAllLanes, sum, distance);
      sum += lane >= distance ? left : 0;
    }
    std::size_t to =
        run.part.first_candidate + CandidatesBefore(bucket, run.tensor, tile) + (sum - count);
    const std::size_t first_element =
        std::size_t{tile - run.tensor.first_tile} * kTile + lane * kWordsOfLane * 32;
    for (unsigned w = 0; w < kWordsOfLane; ++w) {
      for (std::uint32_t word = words[w]; word != 0; word &= word - 1) {
        const std::size_t i =
            first_element + w * 32 + static_cast<unsigned>(__ffs(static_cast<int>(word))) - 1;
        bucket.scratch.candidate_indices[to] = static_cast<std::uint32_t>(i);
        const float v = ValueAt(run.tensor.v, i, run.tensor.state);
        bucket.scratch.candidate_values[to] =
            tail == 0.0f ? v : WithTail(tail, ValueAt(run.tensor.u, i, run.tensor.state), v);
        ++to;
      }
    }
  }
}

/// Counts the source's keys under `prefix` by their bits of this level.
template <unsigned kLevel>
__device__ void CountKeys(const Source& source, std::uint32_t prefix, std::uint32_t* histogram) {
  __shared__ std::uint32_t counts[kBinsOf<kLevel>];
  for (unsigned bin = threadIdx.x; bin < kBinsOf<kLevel>; bin += kThreads) counts[bin] = 0;
  __syncthreads();
  for (std::uint32_t i = threadIdx.x; i < source.count; i += kThreads) {
    const std::uint32_t bits = MagnitudeKey(source.Value(i)) >> kShift<kLevel>;
    if (kLevel == 0 || bits / kBinsOf<kLevel> == prefix) {
      atomicAdd(&counts[bits % kBinsOf<kLevel>], 1u);
    }
  }
  __syncthreads();
  for (unsigned bin = threadIdx.x; bin < kBinsOf<kLevel>; bin += kThreads) {
    if (counts[bin] != 0) atomicAdd(&histogram[bin], counts[bin]);
  }
}

/// Appends the bin of the key of this rank, 1 being the largest, to the prefix, and finds its rank
/// in the bin. All threads call it.
template <unsigned kLevel>
__device__ SparseCut Narrowed(const std::uint32_t* histogram, const SparseCut& cut) {
  __syncthreads();  // All threads have read the previous result.
  constexpr unsigned kBinsOfThread = kBinsOf<kLevel> / kThreads;
  __shared__ typename Scan::TempStorage storage;
  __shared__ SparseCut found;
  const unsigned top = kBinsOf<kLevel> - 1 - threadIdx.x * kBinsOfThread;
  std::uint32_t sum = 0;
  for (unsigned b = 0; b < kBinsOfThread; ++b) sum += histogram[top - b];
  std::uint32_t above = 0;
  Scan(storage).ExclusiveSum(sum, above);
  if (above < cut.rank && cut.rank - above <= sum) {
    unsigned bin = top;
    std::uint32_t rank = cut.rank - above;
    for (; rank > histogram[bin]; --bin) rank -= histogram[bin];
    found = {cut.prefix * kBinsOf<kLevel> + bin, rank};
  }
  __syncthreads();
  return found;
}

/// The rank, about 2 k, to look for among the entries that the selection reads.
__device__ std::uint32_t TwiceK(const Run& run, const SparseStatus& status) {
  const std::uint64_t twice = 2 * std::uint64_t{run.part.k};
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(twice, status.seen(run.tensor)));
}

/// Gathers the candidates, and counts keys for level 0.
__global__ void __launch_bounds__(kThreads) GatherKernel(SparseBucketView bucket) {
  const Run run = RunOfBlock(bucket);
  SparseStatus& status = bucket.statuses[run.tensor_index];
  if (run.is_first && threadIdx.x == 0) {
    status.candidates =
        CandidatesBefore(bucket, run.tensor, run.tensor.first_tile + run.tensor.tiles);
    status.all = run.all;
    status.largest = 0;
  }
  if (!run.all) Gather(bucket, run);
  __syncthreads();
  CountKeys<0>(SourceOf(bucket, run), 0, HistogramOf(bucket, run, 0));
}

/// Narrows by level 0's histogram, and counts for level 1: for the k-th and for the 2 k-th.
__global__ void __launch_bounds__(kThreads) NarrowFirstKernel(SparseBucketView bucket) {
  const Run run = RunOfBlock(bucket);
  SparseStatus& status = bucket.statuses[run.tensor_index];
  const std::uint32_t* const counted = HistogramOf(bucket, run, 0);
  const SparseCut cut = Narrowed<0>(counted, {0, run.part.k});
  const SparseCut twice = Narrowed<0>(counted, {0, TwiceK(run, status)});
  if (run.is_first && threadIdx.x == 0) {
    status.cuts[0] = cut;
    status.twice = twice;
  }
  const Source source = SourceOf(bucket, run);
  CountKeys<1>(source, cut.prefix, HistogramOf(bucket, run, 1));
  if (twice.prefix == cut.prefix) return;
  __syncthreads();  // The counts of the k-th have been read.
  CountKeys<1>(source, twice.prefix, HistogramOf(bucket, run, kTwice));
}

/// Narrows by level 1's histogram, and counts for level 2. For the 2 k-th this is enough: the lower
/// end of its bin, exact to one in 2^13.
__global__ void __launch_bounds__(kThreads) NarrowSecondKernel(SparseBucketView bucket) {
  const Run run = RunOfBlock(bucket);
  SparseStatus& status = bucket.statuses[run.tensor_index];
  const SparseCut cut = Narrowed<1>(HistogramOf(bucket, run, 1), status.cuts[0]);
  if (run.is_first) {
    const bool apart = status.twice.prefix != status.cuts[0].prefix;
    const SparseCut twice = Narrowed<1>(HistogramOf(bucket, run, apart ? kTwice : 1), status.twice);
    if (threadIdx.x == 0) {
      status.cuts[1] = cut;
      status.rank_2k = MagnitudeOfKey(twice.prefix << kShift<1>);
    }
  }
  CountKeys<2>(SourceOf(bucket, run), cut.prefix, HistogramOf(bucket, run, 2));
}

/// Compares a key with the k-th.
__device__ unsigned long long Standing(std::uint32_t key, std::uint32_t kth) {
  return (key > kth ? 1ull << 32 : 0ull) | (key == kth ? 1ull : 0ull);
}
__device__ std::uint32_t Above(unsigned long long counts) {
  return static_cast<std::uint32_t>(counts >> 32);
}
__device__ std::uint32_t Ties(unsigned long long counts) {
  return static_cast<std::uint32_t>(counts);
}

/// Finds the k-th, and counts the keys above it and equal to it, by run.
__global__ void __launch_bounds__(kThreads) CountWinnersKernel(SparseBucketView bucket) {
  __shared__ typename PairScan::TempStorage storage;
  const Run run = RunOfBlock(bucket);
  SparseStatus& status = bucket.statuses[run.tensor_index];
  const SparseCut cut = Narrowed<2>(HistogramOf(bucket, run, 2), status.cuts[1]);
  if (run.is_first && threadIdx.x == 0) status.cuts[2] = cut;
  const Source source = SourceOf(bucket, run);
  unsigned long long counts = 0;
  for (std::uint32_t i = threadIdx.x; i < source.count; i += kThreads) {
    counts += Standing(MagnitudeKey(source.Value(i)), cut.prefix);
  }
  unsigned long long before = 0;
  unsigned long long sum = 0;
  PairScan(storage).ExclusiveSum(counts, before, sum);
  if (threadIdx.x == 0) bucket.scratch.run_counts[blockIdx.x] = sum;
}

/// What an entry sends that was selected by `total`. One that is not finite stays so, to be
/// cleared.
__device__ float SentOf(const SparseTensor& tensor, std::uint32_t index, float total) {
  if (tensor.u == nullptr || tensor.masking != Masking::kAuto || !IsFinite(total)) return total;
  return ValueAt(tensor.v, index, tensor.state);
}

/// Writes the winners of a run to their places.
__global__ void __launch_bounds__(kThreads) TakeWinnersKernel(SparseBucketView bucket) {
  constexpr unsigned kItems = 8;  // A thread's, next to each other, at a time.
  __shared__ typename PairScan::TempStorage storage;
  const Run run = RunOfBlock(bucket);
  SparseStatus& status = bucket.statuses[run.tensor_index];
  const SparseScratch& scratch = bucket.scratch;
  const Source source = SourceOf(bucket, run);
  const auto [kth, ties] = status.cuts[2];
  unsigned long long before =
      scratch.run_offsets[blockIdx.x] - scratch.run_offsets[run.tensor.first_run];
  std::uint32_t largest = 0;
  for (std::uint32_t first = 0; first < source.count; first += kThreads * kItems) {
    float values[kItems];
    unsigned long long counts = 0;
    const std::uint32_t begin = first + threadIdx.x * kItems;
    for (unsigned i = 0; i < kItems; ++i) {
      if (begin + i >= source.count) continue;
      values[i] = source.Value(begin + i);
      counts += Standing(MagnitudeKey(values[i]), kth);
    }
    unsigned long long place = 0;
    unsigned long long sum = 0;
    PairScan(storage).ExclusiveSum(counts, place, sum);
    place += before;
    for (unsigned i = 0; i < kItems; ++i) {
      if (begin + i >= source.count) continue;
      const std::uint32_t key = MagnitudeKey(values[i]);
      if (key > kth || (key == kth && Ties(place) < ties)) {
        const std::size_t to =
            std::size_t{run.part.first_winner} + Above(place) + std::min(Ties(place), ties);
        const std::uint32_t index =
            source.indices == nullptr ? source.first_index + begin + i : source.indices[begin + i];
        const float sent = SentOf(run.tensor, index, values[i]);
        scratch.winner_indices[to] = index;
        scratch.winner_values[to] = sent;
        if (IsFinite(sent)) largest = std::max(largest, MagnitudeKey(sent));
      }
      place += Standing(key, kth);
    }
    before += sum;
    __syncthreads();  // The scan's memory is free again.
  }
  if (largest != 0) atomicMax(&status.largest, largest);
}

/// Writes to `offsets` the sums before each of `counts`, and after the last the sum of all.
template <typename T>
void ScanCounts(const T* counts, T* offsets, std::size_t count, void* storage, std::size_t& bytes,
                cudaStream_t stream) {
  Check(cub::DeviceScan::ExclusiveSum(storage, bytes, counts, offsets, static_cast<int>(count + 1),
                                      stream));
}

}  // namespace

void SelectWinners(const SparseBucketView& bucket, void* storage, std::size_t& bytes,
                   cudaStream_t stream) {
  const SparseScratch& scratch = bucket.scratch;
  if (storage == nullptr) {
    std::size_t bytes_of_runs = 0;
    ScanCounts(scratch.tile_counts, scratch.tile_offsets, bucket.tiles, nullptr, bytes, stream);
    ScanCounts(scratch.run_counts, scratch.run_offsets, bucket.runs, nullptr, bytes_of_runs,
               stream);
    bytes = std::max(bytes, bytes_of_runs);
    return;
  }
  ScanCounts(scratch.tile_counts, scratch.tile_offsets, bucket.tiles, storage, bytes, stream);
  Launch(GatherKernel, bucket.runs, stream, bucket);
  Launch(NarrowFirstKernel, bucket.runs, stream, bucket);
  Launch(NarrowSecondKernel, bucket.runs, stream, bucket);
  Launch(CountWinnersKernel, bucket.runs, stream, bucket);
  ScanCounts(scratch.run_counts, scratch.run_offsets, bucket.runs, storage, bytes, stream);
  Launch(TakeWinnersKernel, bucket.runs, stream, bucket);
}

}  // namespace weir::cuda
