// The codecs of a bucket's tensors: what lies on the GPU, and the launches.
#include <algorithm>
#include <array>
#include <stdexcept>
#include <vector>

#include "compression/cuda/codec_kernels.h"
#include "compression/cuda/codec_layout.h"
#include "compression/cuda/device_array.h"
#include "compression/cuda/kernels.h"
#include "compression/cuda/payload_table.h"
#include "compression/cuda/tile_table.h"

namespace weir::cuda {
namespace {

constexpr std::array<const CodecLaunches*, 3> kLaunches = {&kCastLaunches, &kOneBitLaunches,
                                                           &kInt8Launches};  // By Codec.

/// A dense mean, which no codec was around.
struct DenseMean {
  const float* mean;
  void* out;  ///< Or null.
  DType dtype;
};

__global__ void __launch_bounds__(kThreads)
    FinishKernel(CodecTensor tensor, DenseMean dense, unsigned long long* non_finite) {
  const std::size_t stride = std::size_t{blockDim.x} * gridDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < tensor.n;
       i += stride) {
    float value = dense.mean[i];
    if (tensor.momentum != nullptr) {
      const GpuCodecRule& rule = tensor.rule;
      std::uint32_t counted = 0;
      value = FiniteOrZero(value, counted);
      if (rule.momentum == GpuCodecRule::Momentum::kSignum) {
        AdvanceSignum(rule.mu, value, tensor.momentum[i]);
        value = SignOf(tensor.momentum[i]);
      } else {
        value = AdvanceNesterov(rule.mu, value, tensor.momentum[i], counted);
      }
      if (counted != 0) atomicAdd(non_finite, static_cast<unsigned long long>(counted));
    }
    if (dense.out != nullptr) SetValue(dense.out, i, dense.dtype, value);
  }
}

/// The tensors of one codec.
struct Members {
  SharedArray<std::uint32_t> numbers;
  TileTable tiles;
  TileTable sum_tiles;
  SharedArray<std::uint32_t> first_sums;
  DeviceArray<double> sums;
};

Members MembersOf(GpuCodecRule::Codec codec, std::span<const GpuCodecTensor> tensors) {
  std::vector<std::uint32_t> numbers;
  std::vector<std::size_t> elements(tensors.size());  // 0 of others.
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].rule.codec != codec) continue;
    numbers.push_back(static_cast<std::uint32_t>(i));
    elements[i] = tensors[i].n;
  }
  Members members;
  if (numbers.empty()) return members;
  members.numbers = SharedArray<std::uint32_t>(numbers.size());
  std::ranges::copy(numbers, members.numbers.host().begin());
  members.numbers.Upload(nullptr);
  members.first_sums = SharedArray<std::uint32_t>(tensors.size());
  members.sum_tiles = TileTable(elements, kSumTile);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    members.first_sums.host()[i] = static_cast<std::uint32_t>(members.sum_tiles.first(i));
  }
  members.first_sums.Upload(nullptr);
  members.sums = DeviceArray<double>(members.sum_tiles.size());
  members.tiles = TileTable(elements, kCodecTile);  // Waits for the copies.
  return members;
}

class CodecBucket final : public GpuBucketCompressor {
 public:
  explicit CodecBucket(std::span<const GpuCodecTensor> tensors)
      : tensors_(tensors.size()),
        parts_(tensors.size()),
        targets_(tensors.size()),
        non_finite_(tensors.size()) {
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      const GpuCodecTensor& tensor = tensors[i];
      tensors_.host()[i] = {tensor.momentum, tensor.error, tensor.n, tensor.rule};
    }
    tensors_.Upload(nullptr);
    non_finite_.Clear(nullptr);
    Check(cudaStreamSynchronize(nullptr));
    for (std::size_t codec = 0; codec < kLaunches.size(); ++codec) {
      members_[codec] = MembersOf(static_cast<GpuCodecRule::Codec>(codec), tensors);
    }
  }

  void Encode(std::span<const Part> parts, void* stream) override {
    const auto in = static_cast<cudaStream_t>(stream);
    CheckCount(parts.size());
    sent_ = false;  // What fails has sent nothing.
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const Part& part = parts[i];
      parts_.host()[i] = {part.gradient, part.dtype, part.scale, part.ratio, part.payload};
    }
    parts_.Upload(in);
    ForEachCodec(
        [in](const CodecLaunches& launches, const CodecView& view) { launches.encode(view, in); });
    sent_ = true;
  }

  void Undo(void* stream) override {
    if (!sent_) return;
    const auto in = static_cast<cudaStream_t>(stream);
    ForEachCodec([in](const CodecLaunches& launches, const CodecView& view) {
      launches.put_back(view, in);
    });
    sent_ = false;
  }

  void MergeMean(std::span<const GpuMean> means, void* stream) override {
    const auto in = static_cast<cudaStream_t>(stream);
    CheckCount(means.size());
    payloads_.Set(means, in);
    for (std::size_t i = 0; i < means.size(); ++i) {
      targets_.host()[i] = {means[i].mean, means[i].dtype};
    }
    targets_.Upload(in);
    const CodecMeans all{targets_.device(), payloads_.device(), payloads_.ranks()};
    ForEachCodec([in, &all](const CodecLaunches& launches, const CodecView& view) {
      launches.merge(view, all, in);
    });
  }

  void Finish(std::size_t i, const float* mean, void* out, DType dtype, void* stream) override {
    const CodecTensor& tensor = tensors_.host()[i];
    Launch(FinishKernel, BlocksFor(tensor.n), static_cast<cudaStream_t>(stream), tensor,
           DenseMean{mean, out, dtype}, non_finite_.device() + i);
  }

  void Forget(void*) override { sent_ = false; }

  void FetchReports(void* stream) override {
    non_finite_.Download(static_cast<cudaStream_t>(stream));
  }
  Report ReportOf(std::size_t tensor) const override {
    return {.non_finite = non_finite_.host()[tensor]};
  }

 private:
  void CheckCount(std::size_t count) const {
    if (count != tensors_.size()) throw std::runtime_error("not one part for each tensor");
  }

  template <typename Use>
  void ForEachCodec(const Use& use) const {
    for (std::size_t codec = 0; codec < kLaunches.size(); ++codec) {
      const Members& members = members_[codec];
      if (members.numbers.size() == 0) continue;
      use(*kLaunches[codec], CodecView{.tensors = tensors_.device(),
                                       .parts = parts_.device(),
                                       .non_finite = non_finite_.device(),
                                       .tiles = members.tiles.device(),
                                       .tile_count = members.tiles.size(),
                                       .members = members.numbers.device(),
                                       .member_count = members.numbers.size(),
                                       .sum_tiles = members.sum_tiles.device(),
                                       .sum_tile_count = members.sum_tiles.size(),
                                       .first_sums = members.first_sums.device(),
                                       .sums = members.sums.data()});
    }
  }

  SharedArray<CodecTensor> tensors_;
  SharedArray<CodecPart> parts_;
  SharedArray<CodecMean> targets_;
  SharedArray<unsigned long long> non_finite_;
  PayloadTable payloads_;
  std::array<Members, kLaunches.size()> members_;
  bool sent_ = false;
};

}  // namespace

std::unique_ptr<GpuBucketCompressor> MakeCodecs(std::span<const GpuCodecTensor> tensors) {
  return std::make_unique<CodecBucket>(tensors);
}

}  // namespace weir::cuda
