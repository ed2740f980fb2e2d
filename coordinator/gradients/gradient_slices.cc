#include "coordinator/gradients/gradient_slices.h"

#include <algorithm>
#include <utility>

#include "compression/cpu/squared_norm.h"
#include "compression/memory/finite.h"
#include "compression/residual_ratio.h"
#include "coordinator/gradients/convert.h"
#include "coordinator/gradients/gpu_slices.h"

namespace weir {

GradientSlices::GradientSlices(std::string bucket, std::uint32_t index,
                               std::vector<GradientSlice> slices, const GroupStep& step,
                               const Gpu* gpu)
    : bucket_(std::move(bucket)), index_(index), slices_(std::move(slices)), step_(step) {
  for (GradientSlice& slice : slices_) {
    slice.offset = elements_;
    elements_ += slice.elements;
    largest_slice_ = std::max(largest_slice_, slice.elements);
  }
  if (gpu != nullptr) {
    gpu_ = std::make_unique<GpuSlices>(*gpu, slices_);
    gpu_compression_ = GpuCompression::Make(gpu_->stream(), slices_, step_);
  }
  std::vector<JointCompressor*> joint;
  for (const GradientSlice& slice : slices_) {
    if (JointCompressor* const one = slice.joint()) joint.push_back(one);
  }
  if (!joint.empty()) joint_.emplace(std::move(joint));
}

std::optional<DType> GradientSlices::summable() const {
  const auto first = slices_.front().compression->summable();
  const bool all = std::ranges::all_of(
      slices_, [&](const GradientSlice& slice) { return slice.compression->summable() == first; });
  return all ? first : std::nullopt;
}

std::span<const float> GradientSlices::Source(const GradientSlice& slice) {
  const bool on_gpu = slice.gradient != nullptr && !OnHost(slice);
  const void* const gradient = on_gpu ? gpu_->Gradient(slice) : slice.gradient;
  if (gradient != nullptr && slice.dtype == DType::kFloat32) {
    return {static_cast<const float*>(gradient), slice.elements};
  }
  if (converted_.size() < largest_slice_) converted_.resize(largest_slice_);
  const auto values = std::span<float>(converted_).first(slice.elements);
  if (gradient == nullptr) {
    std::ranges::fill(values, 0.0f);
  } else {
    ConvertToFloat(gradient, slice.dtype, values);
  }
  return values;
}

std::span<float> GradientSlices::Target(const GradientSlice& slice) {
  if (slice.update != nullptr && slice.dtype == DType::kFloat32 && OnHost(slice)) {
    return {static_cast<float*>(slice.update), slice.elements};
  }
  return Staged(slice);
}

std::span<float> GradientSlices::staging() {
  if (staging_.size() < elements_) staging_.resize(elements_);
  return staging_;
}

std::span<float> GradientSlices::Staged(const GradientSlice& slice) {
  return staging().subspan(slice.offset, slice.elements);
}

void GradientSlices::StageAt(const GradientSlice& slice, std::span<float> out) {
  // This rank's own factor (clipping), so it is applied here and not by the exchange.
  const float scale = ContextOf(slice).gradient_scale;
  const std::span<const float> source = Source(slice);
  if (scale == 1.0f) {
    std::ranges::copy(source, out.begin());
  } else {
    std::ranges::transform(source, out.begin(), [scale](float x) { return x * scale; });
  }
}

void GradientSlices::Stage() {
  for (const GradientSlice& slice : slices_) StageAt(slice, Staged(slice));
}

void GradientSlices::StageFinite() {
  Stage();
  for (GradientSlice& slice : slices_) {
    std::uint32_t non_finite = 0;
    for (float& value : Staged(slice)) value = FiniteOrZero(value, non_finite);
    slice.non_finite += non_finite;
  }
}

std::vector<double> GradientSlices::SquaredNorms() {
  std::vector<double> norms(slices_.size());
  if (gpu_) {
    norms = gpu_->SquaredNorms(
        [this](const GradientSlice& slice) { return ContextOf(slice).gradient_scale; });
  }
  for (std::size_t i = 0; i < slices_.size(); ++i) {
    if (gpu_ && GpuSlices::IsMeasured(slices_[i])) continue;
    const StepContext& context = ContextOf(slices_[i]);
    norms[i] = cpu::SquaredNorm(Source(slices_[i]), context.gradient_scale, context.pool).sum;
  }
  return norms;
}

std::size_t GradientSlices::MaxEncodedBytes(const GradientSlice& slice, double density) const {
  if (slice.joint() == nullptr) return slice.compression->MaxEncodedBytes(density);
  return joint_->MaxEncodedBytesOfOne(slice.elements, density);
}

std::size_t GradientSlices::MaxEncodedBytes(double density) const {
  std::size_t bytes = joint_ ? joint_->MaxEncodedBytes(density) : 0;
  for (const GradientSlice& slice : slices_) {
    if (slice.joint() == nullptr) bytes += slice.compression->MaxEncodedBytes(density);
  }
  return bytes;
}

std::size_t GradientSlices::Encode(const GradientSlice& slice, std::span<std::byte> payload) {
  return EncodeFrom(Origin::kSubmitted, slice, payload);
}

std::size_t GradientSlices::EncodeStaged(const GradientSlice& slice, std::span<std::byte> payload) {
  return EncodeFrom(Origin::kStaged, slice, payload);
}

bool GradientSlices::drains() const {
  return std::ranges::all_of(slices_, [](const GradientSlice& slice) {
    return slice.compressor != nullptr && slice.compressor->drains();
  });
}

std::span<const float> GradientSlices::Drain(const GradientSlice& slice, DType type) {
  const std::span<const float> all = slice.compressor->Drain(ContextOf(slice), Source(slice), type);
  GradientSlice::Trace& trace = slices_[encoded_].trace;
  trace.payload_bytes = all.size() * SizeOf(type);
  trace.density = 1.0f;
  CountEncoded();
  return all;
}

StepContext GradientSlices::ContextOf(const GradientSlice& slice, Origin origin) const {
  StepContext context = ContextOf(slice);
  if (origin == Origin::kStaged) context.gradient_scale = 1.0f;
  return context;
}

std::span<const float> GradientSlices::GradientOf(const GradientSlice& slice, Origin origin) {
  return origin == Origin::kStaged ? Staged(slice) : Source(slice);
}

// What was selected and is not encoded when something fails needs no Revert: it is accumulated, and
// nothing of it was sent.
void GradientSlices::SelectTogether(Origin origin) {
  joint_->Begin(step_.density);
  for (const GradientSlice& slice : slices_) {
    if (JointCompressor* const one = slice.joint()) {
      joint_->Accumulate(*one, ContextOf(slice, origin), GradientOf(slice, origin));
    }
  }
  joint_->Select();
}

std::size_t GradientSlices::EncodeFrom(Origin origin, const GradientSlice& slice,
                                       std::span<std::byte> payload) {
  if (joint_ && encoded_ == 0) SelectTogether(origin);
  const StepContext context = ContextOf(slice, origin);
  std::size_t bytes = 0;
  if (slice.gpu != nullptr) {
    bytes = EncodeOnGpu(origin, slice, payload);
  } else if (JointCompressor* const one = slice.joint()) {
    bytes = one->EncodeTaken(context, payload);
  } else {
    bytes = slice.compressor->Encode(context, GradientOf(slice, origin), payload);
  }
  LookAt(slices_[encoded_], payload.first(bytes), origin);
  CountEncoded();
  return bytes;
}

std::size_t GradientSlices::EncodeOnGpu(Origin origin, const GradientSlice& slice,
                                        std::span<std::byte> payload) {
  if (!gpu_compression_->encoded()) {
    if (origin == Origin::kStaged) {
      gpu_compression_->EncodeStaged(staging());
    } else {
      gpu_compression_->Encode();
    }
  }
  const std::span<const std::byte> made = gpu_compression_->PayloadOf(slice);
  std::ranges::copy(made, payload.begin());
  return made.size();
}

void GradientSlices::EncodeAllOnGpu() {
  gpu_compression_->EncodeOnGpu();
  for (GradientSlice& slice : slices_) {
    const std::size_t bytes = slice.compression->MaxEncodedBytes(step_.density);
    slice.trace.payload_bytes = bytes;
    const std::size_t sent = slice.gpu->EntriesAt(step_.density);
    slice.trace.density = static_cast<float>(sent) / static_cast<float>(slice.elements);
    CountEncoded();
  }
}

void GradientSlices::LookAt(GradientSlice& slice, std::span<const std::byte> payload,
                            Origin origin) {
  GradientSlice::Trace& trace = slice.trace;
  trace.payload_bytes = payload.size();
  const std::size_t sent = slice.compression->EntriesIn(payload).value_or(slice.elements);
  trace.density = static_cast<float>(sent) / static_cast<float>(slice.elements);
  const auto turn = static_cast<std::uint64_t>(step_.step);
  const bool its_turn = turn % slices_.size() == encoded_;
  if (!its_turn || slice.compressor == nullptr || slice.compressor->residual().empty()) return;
  trace.residual_ratio =
      ResidualRatio(slice.compressor->residual(), GradientOf(slice, origin),
                    ContextOf(slice, origin).gradient_scale, turn / slices_.size());
}

void GradientSlices::Finish(const GradientSlice& slice, std::span<float> mean) const {
  if (gpu_compression_ && gpu_compression_->Finishes(slice)) {
    return gpu_compression_->Finish(slice, mean);
  }
  slice.compression->Finish(ContextOf(slice), mean);
  Deliver(slice, mean);
}

void GradientSlices::MergeMeans(std::span<const Payloads> received) {
  if (gpu_compression_) gpu_compression_->MergeMeans(received);
  of_slice_.resize(received.size());
  for (std::size_t i = 0; i < slices_.size(); ++i) {
    if (slices_[i].gpu != nullptr) continue;
    const std::span<float> mean = Target(slices_[i]);
    std::ranges::transform(received, of_slice_.begin(),
                           [i](const Payloads& payloads) { return payloads[i]; });
    slices_[i].compression->MergeMean(of_slice_, mean);
    Finish(slices_[i], mean);
  }
}

void GradientSlices::Deliver(const GradientSlice& slice, std::span<const float> result) const {
  if (slice.update == nullptr || slice.update == result.data()) return;
  if (OnHost(slice)) {
    ConvertFromFloat(result, slice.dtype, slice.update);
  } else {
    gpu_->Deliver(slice, result);
  }
}

void GradientSlices::AwaitDelivery() {
  if (!gpu_) return;
  if (gpu_compression_) gpu_compression_->FetchFindings();
  gpu_->stream().Await();
  if (gpu_compression_) gpu_compression_->TellFindings();
}

void GradientSlices::ResultsQueued() {
  if (!results_) results_ = std::make_unique<GpuEvent>(gpu_->stream().gpu());
  results_->Record(gpu_->stream().handle());
  results_queued_ = true;
  on_results_queued_();
}

void GradientSlices::LetWait(void* stream) const {
  if (!results_) return;
  const GpuScope scope(gpu_->stream().gpu());
  gpu_->stream().gpu().api().wait_in(stream, results_->handle());
}

void GradientSlices::Keep() {
  encoded_ = 0;
  results_queued_ = false;
  if (gpu_compression_) gpu_compression_->Keep();
  if (gpu_) gpu_->Forget();
}

bool GradientSlices::ResultsAreInMemory() const {
  return results_queued_ && gpu_compression_ &&
         std::ranges::any_of(slices_, [this](const GradientSlice& slice) {
           return gpu_compression_->Finishes(slice);
         });
}

void GradientSlices::Revert() {
  for (std::size_t i = 0; i < encoded_; ++i) {
    if (slices_[i].gpu == nullptr) slices_[i].compressor->Revert();
  }
  if (gpu_compression_ && gpu_compression_->encoded()) gpu_compression_->Undo();
  encoded_ = 0;
}

void GradientSlices::Mark() {
  for (std::size_t i = 0; i < slices_.size(); ++i) Mark(i);
}

void GradientSlices::Mark(std::size_t slice) {
  GradientSlice& one = slices_[slice];
  if (one.answering != nullptr) one.answering->Mark();
  if (one.gpu != nullptr) return one.gpu->Mark(gpu_->stream());
  one.compressor->Mark();
}

void GradientSlices::GoBack() {
  for (std::size_t i = 0; i < slices_.size(); ++i) GoBack(i);
}

void GradientSlices::GoBack(std::size_t slice) {
  GradientSlice& one = slices_[slice];
  if (one.answering != nullptr) one.answering->GoBack();
  if (one.gpu != nullptr) return one.gpu->GoBack(gpu_->stream());
  one.compressor->GoBack();
}

}  // namespace weir
