// Deep Gradient Compression (compression/dgc/dgc.h).
#include <memory>

#include "compression/cuda/kernels.h"
#include "compression/cuda/mean_momentum.h"
#include "compression/cuda/sparse/dgc_accumulate.h"
#include "compression/cuda/sparse/sparse_bucket.h"
#include "compression/memory/state_rounding.h"

namespace weir::cuda {
namespace {

class DgcBucket final : public GpuBucketCompressor {
 public:
  explicit DgcBucket(std::span<const GpuDgcTensor> tensors) : sparse_(tensors) {
    LoadApplyMomentum();
  }

  void Encode(std::span<const Input> inputs, void* stream) override {
    const auto in = static_cast<cudaStream_t>(stream);
    AccumulateAndMark(sparse_.Begin(inputs, in), in);
    sparse_.Send(in);
  }

  void Undo(void* stream) override { sparse_.PutBack(static_cast<cudaStream_t>(stream)); }

  void ReserveMerge(std::span<const std::size_t> entries, std::size_t ranks,
                    void* stream) override {
    sparse_.ReserveMerge(entries, ranks, static_cast<cudaStream_t>(stream));
  }
  void MergeMean(std::span<const GpuMean> means, void* stream) override {
    sparse_.Merge(means, static_cast<cudaStream_t>(stream));
  }

  void Finish(std::size_t i, const DenseMean& mean, void* stream) override {
    const SparseTensor& tensor = sparse_.tensor(i);
    // Means are equal on all ranks, and u must be too.
    ApplyMomentum({.momentum = tensor.momentum,
                   .m = tensor.m,
                   .u = tensor.u,
                   .state = tensor.state,
                   .rounding = RoundingKey(tensor.seed, mean.step, 0),
                   .mean = mean.mean,
                   .out = mean.out,
                   .n = tensor.n,
                   .dtype = mean.dtype,
                   .non_finite = &sparse_.statuses().device()[i].non_finite},
                  static_cast<cudaStream_t>(stream));
  }

  void Forget(void* stream) override {
    sparse_.ForgetSent();
    sparse_.ForgetThresholds(static_cast<cudaStream_t>(stream));
  }

  void FetchReports(void* stream) override {
    sparse_.statuses().Download(static_cast<cudaStream_t>(stream));
  }

  Report ReportOf(std::size_t tensor) const override {
    const SparseStatus& status = sparse_.statuses().host()[tensor];
    return {.non_finite = status.non_finite,
            .kth_magnitude = MagnitudeOfKey(status.kth),
            .candidates = status.candidates,
            .reread = status.all};
  }

 private:
  SparseBucket sparse_;
};

}  // namespace

std::unique_ptr<GpuBucketCompressor> MakeDgc(std::span<const GpuDgcTensor> tensors) {
  return std::make_unique<DgcBucket>(tensors);
}

}  // namespace weir::cuda
