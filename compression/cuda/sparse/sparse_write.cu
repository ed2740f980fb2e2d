#include "compression/cuda/gradient_types.h"
#include "compression/cuda/launch.h"
#include "compression/cuda/sparse/sparse_write.h"
#include "compression/cuda/value_bytes.h"
#include "compression/wire/index_bytes.h"
#include "compression/wire/index_coding.h"
#include "compression/wire/sparse_payload.h"
#include "compression/wire/value_coding.h"

namespace weir::cuda {
namespace {

constexpr unsigned kPerThread = 4;
constexpr unsigned kPerBlock = kThreads * kPerThread;  // Bytes, or winners.

/// A part, and the winners that go into it.
struct Part {
  const SparseTensor& tensor;
  const SparseInput& part;
  SparseStatus& status;
  const SparseScratch& scratch;
  std::uint32_t* indices;
  float* values;

  __device__ Part(const SparseBucketView& bucket, std::uint32_t i)
      : tensor(bucket.tensors[i]),
        part(bucket.parts[i]),
        status(bucket.statuses[i]),
        scratch(bucket.scratch),
        indices(bucket.scratch.winner_indices + part.first_winner),
        values(bucket.scratch.winner_values + part.first_winner) {}

  __device__ bool masks() const { return !KeepsMomentum(tensor.masking) && tensor.u != nullptr; }
  __device__ int exponent() const { return ExponentOf(tensor.values, status.largest); }
  __device__ std::size_t index_bytes() const { return MaxIndexBytes(tensor.n, part.k); }
  __device__ bool is_bitmap() const {
    return FixedIndexCoding(tensor.n, part.k) == IndexCoding::kBitmap;
  }
};

__device__ void WriteHeader(const Part& part) {
  std::byte* const out = part.part.payload;
  WritePartHeader(FixedIndexCoding(part.tensor.n, part.part.k), part.tensor.values, part.exponent(),
                  out);
  for (unsigned i = 0; i < 4; ++i) {
    out[kPartHeaderBytes + i] = static_cast<std::byte>(part.part.k >> 8 * i);
  }
}

/// Records the result for the threshold of the next step.
__device__ void Observe(const Part& part) {
  SparseStatus& status = part.status;
  status.kth = status.cuts[kLevels - 1].prefix;
  if (part.part.capacity == 0) return status.tracker.Forget();
  const float threshold = ThresholdOf(status.tracker, part.part);
  status.tracker.Observe({.k = part.part.k,
                          .candidates = status.seen(part.tensor),
                          .threshold = threshold,
                          .kth = MagnitudeOfKey(status.kth),
                          .rank_2k = status.rank_2k});
}

__device__ void WriteIndices(const Part& part, std::uint64_t first) {
  const std::size_t bytes = part.index_bytes();
  const std::size_t k = part.part.k;
  std::byte* const out = part.part.payload + kSparseHeaderBytes;
  const EliasFanoLayout layout(part.tensor.n, k);
  for (unsigned step = 0; step < kPerThread; ++step) {
    const std::size_t at = first + step * kThreads + threadIdx.x;
    if (at >= bytes) return;
    out[at] = static_cast<std::byte>(part.is_bitmap() ? BitmapByte(part.indices, k, at)
                                                      : EliasFanoByte(layout, part.indices, k, at));
  }
}

/// DgcStep::ClearNonFinite and DgcStep::Settle of winner i.
__device__ void Settle(const Part& part, std::size_t i, std::byte* values) {
  const std::uint32_t index = part.indices[i];
  float value = part.values[i];
  void* const u = part.tensor.u;
  void* const v = part.tensor.v;
  const DType state = part.tensor.state;
  if (!IsFinite(value)) {
    value = 0.0f;
    SetValue(v, index, state, 0.0f);
    const bool flushes = TailOfTensor(part.tensor) != 0.0f;
    if (u != nullptr && (flushes || !IsFinite(ValueAt(u, index, state)))) {
      SetValue(u, index, state, 0.0f);
    }
    atomicAdd(&part.status.non_finite, 1ull);
  }
  const float sent = WriteValue(part.tensor.values, part.exponent(), value, i, values);
  const std::size_t logged = part.part.first_winner + i;
  const float old_v = ValueAt(v, index, state);
  part.scratch.old_v[logged] = old_v;
  if (!part.masks()) {
    SetValue(v, index, state, old_v - sent);  // A bf16 minus a coarser number is again a bf16.
    return;
  }
  const float old_u = ValueAt(u, index, state);
  part.scratch.old_u[logged] = old_u;
  const float total = WithTail(SentTailOf(part.tensor.masking, part.tensor.m), old_u, old_v);
  if (sent == 0.0f && total != 0.0f) return;  // Rounding made it 0, so it was not sent.
  SetValue(v, index, state, total - sent);
  SetValue(u, index, state, MaskedMomentum(part.tensor.masking, old_u, old_v));
}

__global__ void __launch_bounds__(kThreads)
    WritePartsKernel(SparseBucketView bucket, const WriteJob* jobs) {
  const WriteJob job = jobs[blockIdx.x];
  const Part part(bucket, job.tensor);
  switch (job.kind) {
    case WriteJob::Kind::kHeader:
      if (threadIdx.x != 0) return;
      WriteHeader(part);
      Observe(part);
      return;
    case WriteJob::Kind::kIndices:
      WriteIndices(part, job.first);
      return;
    case WriteJob::Kind::kValues:
      std::byte* const values = part.part.payload + kSparseHeaderBytes + part.index_bytes();
      for (unsigned step = 0; step < kPerThread; ++step) {
        const std::size_t i = job.first + step * kThreads + threadIdx.x;
        if (i < part.part.k) Settle(part, i, values);
      }
      return;
  }
}

__global__ void __launch_bounds__(kThreads)
    PutBackKernel(SparseBucketView bucket, const WriteJob* jobs) {
  const WriteJob job = jobs[blockIdx.x];
  if (job.kind != WriteJob::Kind::kValues) return;
  const Part part(bucket, job.tensor);
  for (unsigned step = 0; step < kPerThread; ++step) {
    const std::size_t i = job.first + step * kThreads + threadIdx.x;
    if (i >= part.part.k) return;
    const std::uint32_t index = part.indices[i];
    const std::size_t logged = part.part.first_winner + i;
    const float old_v = part.scratch.old_v[logged];
    SetValue(part.tensor.v, index, part.tensor.state, part.tensor.adds_back ? old_v + 0.0f : old_v);
    if (part.masks()) {
      SetValue(part.tensor.u, index, part.tensor.state, part.scratch.old_u[logged]);
    }
  }
}

}  // namespace

void AppendJobs(std::uint32_t tensor, std::size_t n, std::size_t k, std::vector<WriteJob>& jobs) {
  jobs.push_back({tensor, WriteJob::Kind::kHeader, 0});
  for (std::size_t first = 0; first < MaxIndexBytes(n, k); first += kPerBlock) {
    jobs.push_back({tensor, WriteJob::Kind::kIndices, first});
  }
  for (std::size_t first = 0; first < k; first += kPerBlock) {
    jobs.push_back({tensor, WriteJob::Kind::kValues, first});
  }
}

void WriteParts(const SparseBucketView& bucket, const WriteJob* jobs, std::size_t count,
                cudaStream_t stream) {
  Launch(WritePartsKernel, count, stream, bucket, jobs);
}

void PutBack(const SparseBucketView& bucket, const WriteJob* jobs, std::size_t count,
             cudaStream_t stream) {
  Launch(PutBackKernel, count, stream, bucket, jobs);
}

}  // namespace weir::cuda
