#include "coordinator/routes/split_route.h"

#include <algorithm>

namespace weir {
namespace {

std::vector<SplitGather::Tensor> TensorsOf(const GradientSlices& gradients) {
  std::vector<SplitGather::Tensor> tensors;
  for (const GradientSlice& slice : gradients.all()) {
    tensors.push_back({slice.elements, slice.compression->entry_values().value()});
  }
  return tensors;
}

}  // namespace

SplitRoute::SplitRoute(GradientSlices& gradients, Transport& transport)
    : Route(gradients), gather_(gradients.bucket(), transport, TensorsOf(gradients)) {}

bool SplitRoute::Suits(const GradientSlices& gradients, int ranks) {
  const auto sends_entries = [](const GradientSlice& slice) {
    return slice.compression->entry_values().has_value();
  };
  return std::ranges::all_of(gradients.all(), sends_entries) &&
         SplitGather::MaxFrameBytes(ranks, TensorsOf(gradients)) <= FrameExchange::kMostBytes;
}

void SplitRoute::Prepare(bool empty) {
  bytes_ = empty ? gather_.Divide(gradients().FrameIdentity(), {}) : 0;
}

std::span<const BucketStage> SplitRoute::stages() const {
  using enum BucketStage;
  static constexpr BucketStage kStages[] = {kCompress, kExchange, kRelay, kExchange, kMerge};
  return kStages;
}

void SplitRoute::Run(BucketStage stage) {
  if (stage == BucketStage::kCompress) return Compress();
  if (stage == BucketStage::kMerge) return Merge();
  bytes_ += gather_.Add(gradients().FrameIdentity());
}

void SplitRoute::Compress() {
  std::vector<SparseEntries> entries;
  for (const GradientSlice& slice : gradients().all()) {
    const std::size_t most = gradients().MaxEncodedBytes(slice, gradients().step().density);
    if (payload_.size() < most) payload_.resize(most);
    const std::size_t bytes = gradients().Encode(slice, payload_);
    entries.push_back(slice.compression->Entries(std::span(payload_).first(bytes)));
  }
  bytes_ = gather_.Divide(gradients().FrameIdentity(), entries);
}

void SplitRoute::Merge() {
  gather_.Read(gradients().FrameIdentity());
  for (std::size_t i = 0; i < gradients().all().size(); ++i) {
    const GradientSlice& slice = gradients().all()[i];
    const std::span<float> mean = gradients().Target(slice);
    gather_.Mean(i, mean);
    gradients().Finish(slice, mean);
  }
}

Collective* SplitRoute::Bind(std::size_t exchange) {
  return exchange == 0 ? gather_.BindParts() : gather_.BindSums();
}

}  // namespace weir
