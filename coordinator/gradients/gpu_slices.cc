#include "coordinator/gradients/gpu_slices.h"

#include <algorithm>
#include <utility>

#include "coordinator/gradients/convert.h"
#include "coordinator/gradients/gradient_slices.h"

namespace weir {
namespace {

/// Large enough that what a copy costs beside its bytes does not count, and small enough that what
/// works on the first chunk does not wait long.
constexpr std::size_t kChunk = std::size_t{1} << 20;

std::size_t BytesOf(const GradientSlice& slice) { return slice.elements * SizeOf(slice.dtype); }

}  // namespace

GpuSlices::GpuSlices(const Gpu& gpu, std::span<const GradientSlice> slices)
    : slices_(slices), stream_(gpu) {
  std::size_t chunk_begin = 0;
  for (const GradientSlice& slice : slices) {
    if (chunks_.empty() || bytes_ - chunk_begin >= kChunk) {
      chunks_.push_back(std::make_unique<GpuEvent>(gpu));
      chunk_begin = bytes_;
    }
    places_.push_back({bytes_, chunks_.size() - 1});
    if (slice.on_gpu) bytes_ += NextLine(BytesOf(slice));
  }
}

std::size_t GpuSlices::NumberOf(const GradientSlice& slice) const {
  return static_cast<std::size_t>(&slice - slices_.data());
}

// One event for a stream, not one for a tensor: each takes the program's thread a while.
void GpuSlices::RecordProgram() {
  for (const GradientSlice& slice : slices_) {
    if (!slice.on_gpu || std::ranges::count(program_streams_, slice.stream) > 0) continue;
    const std::size_t number = program_streams_.size();
    if (number == program_work_.size()) {
      program_work_.push_back(std::make_unique<GpuEvent>(stream_.gpu()));
    }
    program_work_[number]->Record(slice.stream);
    program_streams_.push_back(slice.stream);
  }
}

void GpuSlices::WaitForProgram() {
  if (std::exchange(waits_, true)) return;
  for (std::size_t i = 0; i < program_streams_.size(); ++i) stream_.WaitFor(*program_work_[i]);
}

const void* GpuSlices::Gradient(const GradientSlice& slice) {
  if (!fetched_) Fetch();
  const Place& place = places_[NumberOf(slice)];
  for (; arrived_ <= place.chunk; ++arrived_) chunks_[arrived_]->Await();
  return gradients_.data() + place.at;
}

void GpuSlices::Fetch() {
  gradients_.Reserve(stream_.gpu(), GpuMemory::Kind::kPinned, bytes_);
  for (std::size_t i = 0; i < slices_.size(); ++i) {
    const GradientSlice& slice = slices_[i];
    const auto [at, chunk] = places_[i];
    if (slice.on_gpu && slice.gradient != nullptr) {
      stream_.Copy(gradients_.data() + at, slice.gradient, BytesOf(slice));
    }
    const bool ends = i + 1 == slices_.size() || places_[i + 1].chunk != chunk;
    if (ends) chunks_[chunk]->Record(stream_.handle());
  }
  arrived_ = 0;
  fetched_ = true;
}

void GpuSlices::Deliver(const GradientSlice& slice, std::span<const float> result) {
  results_.Reserve(stream_.gpu(), GpuMemory::Kind::kPinned, bytes_);
  std::byte* const converted = results_.data() + places_[NumberOf(slice)].at;
  ConvertFromFloat(result, slice.dtype, converted);
  stream_.Copy(slice.update, converted, BytesOf(slice));
}

bool GpuSlices::IsMeasured(const GradientSlice& slice) {
  return slice.on_gpu && slice.dtype != DType::kFloat64 && slice.elements > 0;
}

std::vector<double> GpuSlices::SquaredNorms(
    const std::function<float(const GradientSlice&)>& scale) {
  const GpuScope scope(stream_.gpu());
  std::vector<std::size_t> elements;
  std::vector<GpuNormInput> parts;
  for (const GradientSlice& slice : slices_) {
    if (!IsMeasured(slice)) continue;
    elements.push_back(slice.elements);
    parts.push_back({slice.gradient, slice.dtype, scale(slice)});
  }
  std::vector<double> norms(slices_.size());
  if (parts.empty()) return norms;
  if (!norms_) norms_ = KernelsOf(stream_.gpu().library())->make_norms(elements);
  norms_->Measure(parts, stream_.handle());
  stream_.Await();
  std::size_t measured = 0;
  for (std::size_t i = 0; i < slices_.size(); ++i) {
    if (IsMeasured(slices_[i])) norms[i] = norms_->SquaredNorm(measured++);
  }
  return norms;
}

}  // namespace weir
