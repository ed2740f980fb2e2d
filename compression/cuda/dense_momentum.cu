// Tensors that stay dense in DGC's buckets (compression/dgc/dense_momentum.h).
#include <algorithm>
#include <stdexcept>
#include <vector>

#include "compression/cuda/device_array.h"
#include "compression/cuda/gradient_types.h"
#include "compression/cuda/kernels.h"
#include "compression/cuda/launch.h"
#include "compression/cuda/mean_momentum.h"
#include "compression/cuda/payload_table.h"
#include "compression/cuda/tile_table.h"
#include "compression/cuda/value_bytes.h"

namespace weir::cuda {
namespace {

constexpr unsigned kTile = 1024;  // Values of a block.

/// One tensor in a step.
struct Step {
  GpuDenseTensor tensor;
  std::uint64_t first = 0;  ///< First of its places in the log.
  const void* gradient = nullptr;
  DType dtype = DType::kFloat32;
  float scale = 1.0f;
  std::byte* payload = nullptr;
  void* mean = nullptr;
  DType mean_dtype = DType::kFloat32;
};
struct Status {
  std::uint32_t largest;  ///< Largest finite key to send.
  unsigned long long non_finite;
};

/// Calls use(i) for each of a thread's values in a block.
template <typename Use>
__device__ void ForEachOfTile(const Tile& tile, std::size_t n, const Use& use) {
  const std::size_t begin = std::size_t{tile.number} * kTile;
  const std::size_t end = std::min<std::size_t>(begin + kTile, n);
  for (std::size_t i = begin + threadIdx.x; i < end; i += kThreads) use(i);
}

/// Adds the gradients to the errors, and logs the values to send.
__global__ void __launch_bounds__(kThreads)
    TakeKernel(const Step* steps, Status* statuses, const Tile* tiles, float* log) {
  const Tile tile = tiles[blockIdx.x];
  const Step& step = steps[tile.tensor];
  Status& status = statuses[tile.tensor];
  std::uint32_t largest = 0;
  unsigned non_finite = 0;
  ForEachOfTile(tile, step.tensor.n, [&](std::size_t i) {
    const float gradient = step.gradient == nullptr ? 0.0f : ValueAt(step.gradient, i, step.dtype);
    const float scaled = gradient * step.scale;
    const bool finite = IsFinite(scaled);
    float error = step.tensor.error[i] + (finite ? scaled : 0.0f);
    const bool overflow = !IsFinite(error);
    if (overflow) error = 0.0f;
    non_finite += finite && !overflow ? 0 : 1;
    step.tensor.error[i] = error;
    log[step.first + i] = error;
    largest = std::max(largest, MagnitudeKey(error));
  });
  if (largest != 0) atomicMax(&status.largest, largest);
  if (non_finite != 0) atomicAdd(&status.non_finite, static_cast<unsigned long long>(non_finite));
}

/// Writes the payloads and leaves what they lose in the errors.
__global__ void __launch_bounds__(kThreads)
    WriteKernel(const Step* steps, const Status* statuses, const Tile* tiles) {
  const Tile tile = tiles[blockIdx.x];
  const Step& step = steps[tile.tensor];
  const ValueType type = step.tensor.values;
  const int exponent = ExponentOf(type, statuses[tile.tensor].largest);
  if (tile.number == 0 && threadIdx.x == 0) {
    WritePartHeader(IndexCoding::kNone, type, exponent, step.payload);
  }
  ForEachOfTile(tile, step.tensor.n, [&](std::size_t i) {
    float& error = step.tensor.error[i];
    error -= WriteValue(type, exponent, error, i, step.payload + kPartHeaderBytes);
  });
}

__global__ void __launch_bounds__(kThreads)
    PutBackKernel(const Step* steps, const Tile* tiles, const float* log) {
  const Tile tile = tiles[blockIdx.x];
  const Step& step = steps[tile.tensor];
  ForEachOfTile(tile, step.tensor.n,
                [&](std::size_t i) { step.tensor.error[i] = log[step.first + i]; });
}

/// Adds up the ranks' payloads, by tensor then rank, in rank order.
__global__ void __launch_bounds__(kThreads)
    MergeKernel(const Step* steps, Status* statuses, const Tile* tiles,
                const std::byte* const* payloads, std::uint32_t ranks) {
  const Tile tile = tiles[blockIdx.x];
  const Step& step = steps[tile.tensor];
  const GpuDenseTensor& tensor = step.tensor;
  ForEachOfTile(tile, tensor.n, [&](std::size_t i) {
    float sum = 0.0f;
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      const std::byte* const payload = payloads[std::size_t{tile.tensor} * ranks + rank];
      if (payload == nullptr) continue;
      sum += DecodedValue(payload + kPartHeaderBytes, i, tensor.values,
                          PowerOfTwo(ExponentIn(payload)));
    }
    const float direction =
        Direction(tensor.momentum, tensor.m, sum / static_cast<float>(ranks),
                  tensor.u == nullptr ? nullptr : tensor.u + i, &statuses[tile.tensor].non_finite);
    if (step.mean != nullptr) SetValue(step.mean, i, step.mean_dtype, direction);
  });
}

/// Data on the GPU, and the launches.
class DenseMomentumBucket final : public GpuBucketCompressor {
 public:
  explicit DenseMomentumBucket(std::span<const GpuDenseTensor> tensors)
      : steps_(tensors.size()), statuses_(tensors.size()) {
    std::vector<std::size_t> sizes;
    std::uint64_t elements = 0;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      steps_.host()[i] = {.tensor = tensors[i], .first = elements};
      elements += tensors[i].n;
      sizes.push_back(tensors[i].n);
    }
    log_ = DeviceArray<float>(elements);
    tiles_ = TileTable(sizes, kTile);
    statuses_.Clear(nullptr);
    Check(cudaStreamSynchronize(nullptr));
    Load(MergeKernel);
    LoadApplyMomentum();
  }

  void Encode(std::span<const Input> inputs, void* stream) override {
    const auto in = static_cast<cudaStream_t>(stream);
    CheckCount(inputs.size());
    sent_ = false;  // A step that fails has sent nothing.
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      Step& step = steps_.host()[i];
      step.gradient = inputs[i].gradient;
      step.dtype = inputs[i].dtype;
      step.scale = inputs[i].scale;
      step.payload = inputs[i].payload;
    }
    steps_.Upload(in);
    ClearLargest(in);
    Launch(TakeKernel, tiles_.size(), in, steps_.device(), statuses_.device(), tiles_.device(),
           log_.data());
    Launch(WriteKernel, tiles_.size(), in, steps_.device(), statuses_.device(), tiles_.device());
    sent_ = true;
  }

  void Undo(void* stream) override {
    if (!sent_) return;
    Launch(PutBackKernel, tiles_.size(), static_cast<cudaStream_t>(stream), steps_.device(),
           tiles_.device(), log_.data());
    sent_ = false;
  }

  void ReserveMerge(std::span<const std::size_t>, std::size_t ranks, void* stream) override {
    payloads_.Reserve(statuses_.size(), ranks, static_cast<cudaStream_t>(stream));
  }
  void MergeMean(std::span<const GpuMean> means, void* stream) override {
    const auto in = static_cast<cudaStream_t>(stream);
    CheckCount(means.size());
    payloads_.Set(means, in);
    for (std::size_t i = 0; i < means.size(); ++i) {
      steps_.host()[i].mean = means[i].mean;
      steps_.host()[i].mean_dtype = means[i].dtype;
    }
    steps_.Upload(in);
    Launch(MergeKernel, tiles_.size(), in, steps_.device(), statuses_.device(), tiles_.device(),
           payloads_.device(), payloads_.ranks());
  }

  void Forget(void*) override { sent_ = false; }

  void Finish(std::size_t i, const DenseMean& mean, void* stream) override {
    const GpuDenseTensor& tensor = steps_.host()[i].tensor;
    ApplyMomentum({.momentum = tensor.momentum,
                   .m = tensor.m,
                   .u = tensor.u,
                   .state = DType::kFloat32,
                   .rounding = 0,
                   .mean = mean.mean,
                   .out = mean.out,
                   .n = tensor.n,
                   .dtype = mean.dtype,
                   .non_finite = &statuses_.device()[i].non_finite},
                  static_cast<cudaStream_t>(stream));
  }

  void FetchReports(void* stream) override {
    statuses_.Download(static_cast<cudaStream_t>(stream));
  }
  Report ReportOf(std::size_t tensor) const override {
    return {.non_finite = statuses_.host()[tensor].non_finite};
  }

 private:
  void CheckCount(std::size_t count) {
    if (count != statuses_.size()) throw std::runtime_error("not one part for each tensor");
  }
  void ClearLargest(cudaStream_t stream);

  SharedArray<Step> steps_;
  SharedArray<Status> statuses_;
  TileTable tiles_;
  DeviceArray<float> log_;  ///< The values that were to be sent.
  PayloadTable payloads_;
  bool sent_ = false;
};

__global__ void ClearLargestKernel(Status* statuses, std::size_t count) {
  const std::size_t i = std::size_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i < count) statuses[i].largest = 0;
}

void DenseMomentumBucket::ClearLargest(cudaStream_t stream) {
  Launch(ClearLargestKernel, BlocksFor(statuses_.size()), stream, statuses_.device(),
         statuses_.size());
}

}  // namespace

std::unique_ptr<GpuBucketCompressor> MakeDenseMomentum(std::span<const GpuDenseTensor> tensors) {
  return std::make_unique<DenseMomentumBucket>(tensors);
}

}  // namespace weir::cuda
