#include "coordinator/routes/gpu_dense_route.h"

#include <algorithm>

#include "coordinator/network/set_network.h"
#include "coordinator/routes/dense_route.h"

namespace weir {
namespace {

bool IsLarge(const GradientSlice& slice) {
  return slice.elements * sizeof(float) >= DenseRoute::kLargeBytes;
}

std::unique_ptr<GpuPacking> PackingOf(GradientSlices& gradients) {
  const GpuScope scope(gradients.gpu_stream().gpu());
  std::vector<std::size_t> elements;
  for (const GradientSlice& slice : gradients.all()) elements.push_back(slice.elements);
  return KernelsOf(gradients.gpu_stream().gpu().library())->make_packing(elements);
}

}  // namespace

GpuDenseRoute::GpuDenseRoute(GradientSlices& gradients, SetNetwork& network)
    : Route(gradients), network_(network), packing_(PackingOf(gradients)) {}

bool GpuDenseRoute::Suits(const GradientSlices& gradients, bool plain) {
  return std::ranges::all_of(gradients.all(), [plain](const GradientSlice& slice) {
    const bool finishes = plain || slice.gpu != nullptr;
    return finishes && !GradientSlices::OnHost(slice) && slice.dtype != DType::kFloat64;
  });
}

void GpuDenseRoute::Prepare(bool empty) {
  empty_ = empty;
  if (!empty) return;
  const Gpu& gpu = gradients().gpu_stream().gpu();
  const GpuScope scope(gpu);
  staging_.Reserve(gpu, GpuMemory::Kind::kDevice, gradients().elements() * sizeof(float));
  gpu.api().clear(staging_.data(), staging_.size());
}

std::span<const BucketStage> GpuDenseRoute::stages() const {
  using enum BucketStage;
  static constexpr BucketStage kStages[] = {kPack, kExchange, kUnpack};
  return kStages;
}

bool GpuDenseRoute::StaysInPlace(const GradientSlice& slice) const {
  return IsLarge(slice) && !empty_ && slice.dtype == DType::kFloat32 && slice.gradient != nullptr &&
         slice.update != nullptr && gradients().ContextOf(slice).gradient_scale == 1.0f;
}

float* GpuDenseRoute::Packed(const GradientSlice& slice) const {
  return reinterpret_cast<float*>(staging_.data()) + slice.offset;
}

void GpuDenseRoute::Run(BucketStage stage) {
  if (stage == BucketStage::kUnpack) return;  // Was queued after the exchange.
  const GpuScope scope(gradients().gpu_stream().gpu());
  Pack();
}

void GpuDenseRoute::QueueResults() {
  const GpuScope scope(gradients().gpu_stream().gpu());
  if (!empty_) Unpack();
  gradients().ResultsQueued();
}

void GpuDenseRoute::Pack() {
  GpuStream& stream = gradients().gpu_stream();
  std::vector<GpuPacking::Source> sources;
  bool packs = false;
  for (const GradientSlice& slice : gradients().all()) {
    sources.push_back({.values = slice.gradient,
                       .dtype = slice.dtype,
                       .scale = gradients().ContextOf(slice).gradient_scale,
                       .wanted = !StaysInPlace(slice)});
    packs |= sources.back().wanted;
  }
  if (!packs) return;
  staging_.Reserve(stream.gpu(), GpuMemory::Kind::kDevice, gradients().elements() * sizeof(float));
  packing_->Pack(sources, reinterpret_cast<float*>(staging_.data()), stream.handle());
}

bool GpuDenseRoute::Finish(const GradientSlice& slice, bool stays) {
  if (!gradients().has_gpu_compression()) return false;
  GpuCompression& compression = gradients().gpu_compression();
  if (!compression.Finishes(slice)) return false;
  compression.FinishOnGpu(slice, stays ? static_cast<const float*>(slice.update) : Packed(slice));
  return true;
}

void GpuDenseRoute::Unpack() {
  std::vector<GpuPacking::Target> targets;
  bool unpacks = false;
  for (const GradientSlice& slice : gradients().all()) {
    const bool stays = StaysInPlace(slice);
    const bool finished = Finish(slice, stays);
    targets.push_back({stays || finished ? nullptr : slice.update, slice.dtype});
    unpacks |= targets.back().values != nullptr;
  }
  if (!unpacks) return;
  packing_->Unpack(reinterpret_cast<const float*>(staging_.data()), targets,
                   gradients().gpu_stream().handle());
}

// Every rank binds as many arrays, of the same lengths; their places may differ.
Collective* GpuDenseRoute::Bind(std::size_t) {
  arrays_.clear();
  bool goes_on = false;  // After a small one.
  for (const GradientSlice& slice : gradients().all()) {
    const bool large = IsLarge(slice);
    const auto elements = static_cast<std::int64_t>(slice.elements);
    if (StaysInPlace(slice)) {
      arrays_.push_back({slice.gradient, slice.update, elements, DType::kFloat32});
    } else if (goes_on && !large) {
      arrays_.back().elements += elements;
    } else {
      arrays_.push_back({Packed(slice), Packed(slice), elements, DType::kFloat32});
    }
    goes_on = !large;
  }
  if (!allreduce_) {
    allreduce_.emplace(
        network_.gpus().Between(*gradients().step().gpus, gradients().gpu_stream().gpu()));
    allreduce_->Join(gradients().gpu_stream(), [this] { QueueResults(); });
  }
  allreduce_->Bind(arrays_, gradients().step().reduction);
  return &*allreduce_;
}

}  // namespace weir
