// RandomKCodec: random entries, which every rank draws for itself.
#include <memory>
#include <vector>

#include "compression/cuda/codecs/codec_bucket.h"
#include "compression/cuda/codecs/codec_memory.h"
#include "compression/cuda/codecs/random_draw.h"
#include "compression/cuda/value_bytes.h"

namespace weir::cuda {
namespace {

// A payload: the step, the count, and a dense part.
constexpr std::size_t kCountAt = sizeof(std::int64_t);
constexpr std::size_t kPartAt = kCountAt + sizeof(std::uint32_t);
constexpr std::size_t kValuesAt = kPartAt + kPartHeaderBytes;

__device__ std::int64_t StepIn(const std::byte* payload) {
  return *reinterpret_cast<const std::int64_t*>(payload);
}
__device__ std::uint32_t CountIn(const std::byte* payload) {
  return *reinterpret_cast<const std::uint32_t*>(payload + kCountAt);
}

/// Data of a step, passed between the kernels.
struct Entries {
  RandomDraw::View draw;
  std::int64_t* steps;     ///< By tensor, the step to draw for.
  std::uint32_t* largest;  ///< By tensor, of the values to send, the largest finite key.
  float* values;           ///< By entry, the value to send.
};

/// Sets the step to draw for. One block per tensor.
__global__ void __launch_bounds__(kThreads) BeginKernel(CodecView view, Entries entries) {
  if (threadIdx.x != 0) return;
  entries.steps[blockIdx.x] = view.parts[blockIdx.x].step;
  entries.largest[blockIdx.x] = 0;
}

/// Takes all of the gradients. One block per tile.
__global__ void __launch_bounds__(kThreads) TakeKernel(CodecView view) {
  const Tile tile = view.tiles[blockIdx.x];
  const CodecTensor tensor = view.tensors[tile.tensor];
  const CodecInput part = view.parts[tile.tensor];
  constexpr unsigned kFours = kCodecTile / (kThreads * kFour);
  const auto place = [&](unsigned f) {
    return std::size_t{tile.number} * kCodecTile + (f * kThreads + threadIdx.x) * kFour;
  };
  FourToTake loaded[kFours];
  for (unsigned f = 0; f < kFours; ++f) loaded[f] = LoadFour(tensor, part, place(f));
  std::uint32_t non_finite = 0;
  for (unsigned f = 0; f < kFours; ++f) {
    const Four taken = TakeFour(tensor, part, loaded[f], place(f), non_finite);
    if (tensor.error != nullptr) Store(taken, tensor.error, place(f), tensor.n);
  }
  CountNonFinite(view, tile.tensor, non_finite);
}

/// Picks the drawn entries. One block per tile of entries, as below.
__global__ void __launch_bounds__(kThreads) PickKernel(CodecView view, Entries entries) {
  const Tile tile = entries.draw.tiles[blockIdx.x];
  const RandomDraw::Job job = entries.draw.jobs[tile.tensor];
  const CodecTensor tensor = view.tensors[tile.tensor];
  const CodecInput part = view.parts[tile.tensor];
  const float factor =
      tensor.rule.unbiased ? static_cast<float>(tensor.n) / static_cast<float>(job.k) : 1.0f;
  std::uint32_t largest = 0;
  ForEachEntry(job, tile, [&](std::uint32_t e) {
    const float value = factor * TakenOne(tensor, part, entries.draw.Index(job, e));
    entries.values[job.first + e] = value;
    const std::uint32_t key = MagnitudeKey(value);
    if (key < kInfinityKey && key > largest) largest = key;
  });
  if (largest != 0) atomicMax(entries.largest + tile.tensor, largest);
}

/// Writes the payloads, and leaves in the errors what these lack.
__global__ void __launch_bounds__(kThreads) WriteKernel(CodecView view, Entries entries) {
  const Tile tile = entries.draw.tiles[blockIdx.x];
  const RandomDraw::Job job = entries.draw.jobs[tile.tensor];
  const CodecTensor tensor = view.tensors[tile.tensor];
  const CodecInput part = view.parts[tile.tensor];
  const ValueType type = tensor.rule.values;
  const int exponent = ExponentOf(type, entries.largest[tile.tensor]);
  if (tile.number == 0 && threadIdx.x == 0) {
    *reinterpret_cast<std::int64_t*>(part.payload) = part.step;
    *reinterpret_cast<std::uint32_t*>(part.payload + kCountAt) = job.k;
    WritePartHeader(IndexCoding::kNone, type, exponent, part.payload + kPartAt);
  }
  ForEachEntry(job, tile, [&](std::uint32_t e) {
    const float value = entries.values[job.first + e];
    const float sent = WriteValue(type, exponent, value, e, part.payload + kValuesAt);
    if (tensor.error != nullptr) tensor.error[entries.draw.Index(job, e)] = value - sent;
  });
}

/// Returns the decoded entry e of a payload.
__device__ float ValueIn(const CodecTensor& tensor, const std::byte* payload, std::uint32_t e) {
  const float factor = PowerOfTwo(ExponentIn(payload + kPartAt));
  return DecodedValue(payload + kValuesAt, e, tensor.rule.values, factor);
}

__global__ void __launch_bounds__(kThreads) PutBackKernel(CodecView view, Entries entries) {
  const Tile tile = entries.draw.tiles[blockIdx.x];
  const RandomDraw::Job job = entries.draw.jobs[tile.tensor];
  const CodecTensor tensor = view.tensors[tile.tensor];
  if (tensor.error == nullptr) return;
  ForEachEntry(job, tile, [&](std::uint32_t e) {
    tensor.error[entries.draw.Index(job, e)] += ValueIn(tensor, view.parts[tile.tensor].payload, e);
  });
}

/// Returns true if a rank's payload is of the merged step: all have drawn for one step.
__device__ bool IsOf(const std::byte* payload, std::int64_t step, std::uint32_t k) {
  return payload != nullptr && CountIn(payload) == k && StepIn(payload) == step;
}

/// Finds the step that was drawn for, in the first payload that exists. One block per tensor.
__global__ void __launch_bounds__(kThreads) FindStepKernel(CodecMeans means, Entries entries) {
  if (threadIdx.x != 0) return;
  const std::byte* const* const payloads = means.payloads + std::size_t{blockIdx.x} * means.ranks;
  const std::uint32_t k = entries.draw.jobs[blockIdx.x].k;
  std::int64_t step = 0;
  for (std::uint32_t rank = means.ranks; rank-- > 0;) {
    if (payloads[rank] != nullptr && CountIn(payloads[rank]) == k) step = StepIn(payloads[rank]);
  }
  entries.steps[blockIdx.x] = step;
}

__global__ void __launch_bounds__(kThreads) ClearMeansKernel(CodecView view, CodecMeans means) {
  const Tile tile = view.tiles[blockIdx.x];
  const CodecMean target = means.targets[tile.tensor];
  if (target.mean == nullptr) return;
  const std::size_t n = view.tensors[tile.tensor].n;
  for (unsigned four = threadIdx.x; four < kCodecTile / kFour; four += kThreads) {
    const std::size_t at = std::size_t{tile.number} * kCodecTile + four * kFour;
    if (at < n) StoreAny(Four{}, target.mean, target.dtype, at, n);
  }
}

__global__ void __launch_bounds__(kThreads)
    MergeKernel(CodecView view, CodecMeans means, Entries entries) {
  const Tile tile = entries.draw.tiles[blockIdx.x];
  const RandomDraw::Job job = entries.draw.jobs[tile.tensor];
  const CodecTensor tensor = view.tensors[tile.tensor];
  const CodecMean target = means.targets[tile.tensor];
  if (target.mean == nullptr) return;
  const std::byte* const* const payloads = means.payloads + std::size_t{tile.tensor} * means.ranks;
  const std::int64_t step = entries.steps[tile.tensor];
  ForEachEntry(job, tile, [&](std::uint32_t e) {
    float sum = 0.0f;
    for (std::uint32_t rank = 0; rank < means.ranks; ++rank) {
      if (IsOf(payloads[rank], step, job.k)) sum += ValueIn(tensor, payloads[rank], e);
    }
    SetValue(target.mean, entries.draw.Index(job, e), target.dtype,
             sum / static_cast<float>(means.ranks));
  });
}

class RandomKBucket final : public CodecBucket {
 public:
  explicit RandomKBucket(std::span<const GpuCodecTensor> tensors)
      : CodecBucket(tensors),
        draw_(DrawnOf(tensors)),
        sent_(tensors.size()),
        received_(tensors.size()),
        steps_(tensors.size()),
        largest_(tensors.size()) {
    Load(FindStepKernel);
    Load(ClearMeansKernel);
    Load(MergeKernel);
  }

 private:
  static std::vector<RandomDraw::Tensor> DrawnOf(std::span<const GpuCodecTensor> tensors) {
    std::vector<RandomDraw::Tensor> drawn;
    for (const GpuCodecTensor& tensor : tensors) {
      drawn.push_back({tensor.n, {tensor.rule.key[0], tensor.rule.key[1]}});
    }
    return drawn;
  }

  void SetCounts(std::span<const std::size_t> counts, cudaStream_t stream) {
    draw_.SetCounts(counts, stream);
    if (values_.size() != draw_.entries()) values_ = DeviceArray<float>(draw_.entries());
  }
  Entries View() const { return {draw_.view(), steps_.data(), largest_.data(), values_.data()}; }

  void DrawAsSent(const CodecView& view, cudaStream_t stream) {
    SetCounts(sent_, stream);
    Launch(BeginKernel, count(), stream, view, View());
    draw_.Draw(steps_.data(), stream);
  }

  void Send(const CodecView& view, std::span<const Input> inputs, cudaStream_t stream) override {
    for (std::size_t i = 0; i < inputs.size(); ++i) sent_[i] = inputs[i].k;
    DrawAsSent(view, stream);
    Launch(TakeKernel, view.tile_count, stream, view);
    Launch(PickKernel, View().draw.tile_count, stream, view, View());
    Launch(WriteKernel, View().draw.tile_count, stream, view, View());
  }

  void PutBack(const CodecView& view, cudaStream_t stream) override {
    DrawAsSent(view, stream);  // A merge may have drawn for another step.
    Launch(PutBackKernel, View().draw.tile_count, stream, view, View());
  }

  void Reserve(std::span<const std::size_t> entries, std::size_t, cudaStream_t stream) override {
    SetCounts(entries, stream);  // The same counts as were sent: nothing is lost.
  }
  void Merge(const CodecView& view, const CodecMeans& received, std::span<const GpuMean> means,
             cudaStream_t stream) override {
    for (std::size_t i = 0; i < means.size(); ++i) {
      received_[i] = 0;
      for (const GpuMean::Payload& payload : means[i].payloads) {
        if (received_[i] == 0) received_[i] = payload.entries;
      }
    }
    SetCounts(received_, stream);
    Launch(FindStepKernel, count(), stream, received, View());
    draw_.Draw(steps_.data(), stream);
    Launch(ClearMeansKernel, view.tile_count, stream, view, received);
    Launch(MergeKernel, View().draw.tile_count, stream, view, received, View());
  }

  RandomDraw draw_;
  std::vector<std::size_t> sent_;  ///< Entries, by tensor.
  std::vector<std::size_t> received_;
  DeviceArray<std::int64_t> steps_;
  DeviceArray<std::uint32_t> largest_;
  DeviceArray<float> values_;
};

}  // namespace

std::unique_ptr<GpuBucketCompressor> MakeRandomK(std::span<const GpuCodecTensor> tensors) {
  return std::make_unique<RandomKBucket>(tensors);
}

}  // namespace weir::cuda
