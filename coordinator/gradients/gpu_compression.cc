#include "coordinator/gradients/gpu_compression.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "common/check.h"
#include "compression/memory/error_feedback.h"
#include "coordinator/gradients/gradient_slices.h"

namespace weir {
namespace {

using Kind = GpuMemory::Kind;

}  // namespace

std::unique_ptr<GpuCompression> GpuCompression::Make(GpuStream& stream,
                                                     std::span<const GradientSlice> slices,
                                                     const GroupStep& step) {
  std::vector<Member> members;
  ByKind<std::size_t> counts{};
  for (const GradientSlice& slice : slices) {
    if (slice.gpu == nullptr) continue;
    Member member{.slice = &slice, .compressor = slice.gpu, .number = 0};
    member.number = counts[member.kind()]++;
    members.push_back(member);
  }
  if (members.empty()) return nullptr;
  return std::unique_ptr<GpuCompression>(
      new GpuCompression(stream, std::move(members), slices, step));
}

GpuCompression::GpuCompression(GpuStream& stream, std::vector<Member> members,
                               std::span<const GradientSlice> slices, const GroupStep& step)
    : stream_(stream), slices_(slices), step_(step), members_(std::move(members)) {
  const GpuScope scope(stream.gpu());
  ByKind<std::vector<const GpuCompressor*>> compressors;
  for (const Member& member : members_) compressors[member.kind()].push_back(member.compressor);
  const GpuKernels& kernels = *KernelsOf(stream.gpu().library());
  for (std::size_t kind = 0; kind < kGpuKinds; ++kind) {
    if (!compressors[kind].empty()) kernels_[kind] = MakeBucketOf(kernels, compressors[kind]);
  }
}

template <typename Visit>
void GpuCompression::ForEachKind(const Visit& visit) {
  for (std::size_t kind = 0; kind < kernels_.size(); ++kind) {
    if (kernels_[kind]) visit(kind, *kernels_[kind]);
  }
}

const GpuCompression::Member& GpuCompression::MemberOf(const GradientSlice& slice) const {
  const auto found = std::ranges::find(members_, &slice, &Member::slice);
  WEIR_CHECK(found != members_.end());
  return *found;
}

std::size_t GpuCompression::PlacePayloads() {
  bytes_ = 0;
  for (Member& member : members_) {
    member.payload_at = bytes_;
    member.payload_bytes = member.compressor->MaxEncodedBytes(step_.density);
    bytes_ += NextLine(member.payload_bytes);
  }
  on_gpu_.Reserve(stream_.gpu(), Kind::kDevice, bytes_);
  return bytes_;
}

std::span<std::byte> GpuCompression::payloads() { return {on_gpu_.data(), bytes_}; }

void GpuCompression::ForgetRestored() {
  bool restored = false;
  for (const Member& member : members_) restored |= member.compressor->TakeRestored();
  if (!restored) return;
  ForEachKind([this](std::size_t, auto& kernels) { kernels.Forget(stream_.handle()); });
}

template <typename SourceOf>
void GpuCompression::EncodeFrom(const SourceOf& source_of) {
  const GpuScope scope(stream_.gpu());
  ForgetRestored();
  PlacePayloads();
  ByKind<std::vector<GpuBucketCompressor::Input>> parts;
  for (const Member& member : members_) {
    const Source source = source_of(*member.slice);
    const auto group = static_cast<std::size_t>(member.slice->parameter_group);
    parts[member.kind()].push_back({.gradient = source.gradient,
                                    .dtype = source.dtype,
                                    .scale = source.scale,
                                    .ratio = ErrorRatio(step_.contexts[group]),
                                    .k = member.compressor->EntriesAt(step_.density),
                                    .step = step_.contexts[group].step,
                                    .rank = step_.contexts[group].rank,
                                    .payload = on_gpu_.data() + member.payload_at});
  }
  ForEachKind([&](std::size_t kind, auto& kernels) {
    sent_[kind] = true;
    kernels.Encode(parts[kind], stream_.handle());
  });
}

void GpuCompression::FetchPayloads() {
  encoded_.Reserve(stream_.gpu(), Kind::kPinned, bytes_);
  stream_.Copy(encoded_.data(), on_gpu_.data(), bytes_);
  stream_.Await();
}

void GpuCompression::EncodeOnGpu() {
  EncodeFrom([this](const GradientSlice& slice) {
    const auto group = static_cast<std::size_t>(slice.parameter_group);
    return Source{slice.gradient, slice.dtype, step_.contexts[group].gradient_scale};
  });
}

void GpuCompression::Encode() {
  EncodeOnGpu();
  FetchPayloads();
}

void GpuCompression::EncodeStaged(std::span<const float> staged) {
  staged_.Reserve(stream_.gpu(), Kind::kDevice, staged.size_bytes());
  stream_.Copy(staged_.data(), staged.data(), staged.size_bytes());
  EncodeFrom([this](const GradientSlice& slice) {
    return Source{staged_.data() + slice.offset * sizeof(float), DType::kFloat32, 1.0f};
  });
  FetchPayloads();
}

void GpuCompression::WriteZeros() {
  const GpuScope scope(stream_.gpu());
  std::vector<std::byte> payloads(bytes_);
  for (const Member& member : members_) {
    const std::span<std::byte> out =
        std::span(payloads).subspan(member.payload_at, member.payload_bytes);
    member.compressor->EncodeZeros(step_.density, out);
  }
  stream_.gpu().api().copy(on_gpu_.data(), payloads.data(), payloads.size());
}

GpuCompression::Payload GpuCompression::PayloadOf(const GradientSlice& slice) const {
  const Member& member = MemberOf(slice);
  const Payload room{encoded_.data() + member.payload_at, member.payload_bytes};
  return room.first(member.compressor->EncodedBytes(room));
}

void GpuCompression::Undo() {
  const GpuScope scope(stream_.gpu());
  ForgetRestored();
  ForEachKind([this](std::size_t kind, auto& kernels) {
    if (sent_[kind]) kernels.Undo(stream_.handle());
  });
  sent_ = {};
  stream_.Await();
}

void GpuCompression::ReserveMerge(std::size_t ranks) {
  const GpuScope scope(stream_.gpu());
  ByKind<std::vector<std::size_t>> entries;
  for (const Member& member : members_) {
    entries[member.kind()].push_back(member.compressor->EntriesAt(step_.density));
  }
  ForEachKind([&](std::size_t kind, auto& kernels) {
    kernels.ReserveMerge(entries[kind], ranks, stream_.handle());
  });
}

bool GpuCompression::undoes_from_payloads() const {
  return std::ranges::any_of(members_, [](const Member& member) {
    const auto* const codec = std::get_if<GpuCodecRule>(&member.compressor->rule());
    return codec != nullptr && codec->feedback;
  });
}

std::vector<std::vector<GpuMean::Payload>> GpuCompression::Upload(
    std::span<const std::vector<Payload>> received) {
  std::size_t bytes = 0;
  for (const std::vector<Payload>& of_rank : received) {
    for (const Payload payload : of_rank) bytes += NextLine(payload.size());
  }
  arrived_.Reserve(stream_.gpu(), Kind::kPinned, bytes);
  to_merge_.Reserve(stream_.gpu(), Kind::kDevice, bytes);
  std::vector<std::vector<GpuMean::Payload>> placed(members_.size());
  std::size_t at = 0;
  for (std::size_t m = 0; m < members_.size(); ++m) {
    const auto slice = static_cast<std::size_t>(members_[m].slice - slices_.data());
    for (const std::vector<Payload>& of_rank : received) {
      const Payload payload = of_rank[slice];
      GpuMean::Payload& one = placed[m].emplace_back();
      if (payload.empty()) continue;  // It has sent nothing.
      std::ranges::copy(payload, arrived_.data() + at);
      one.bytes = to_merge_.data() + at;
      one.entries = static_cast<std::uint32_t>(
          members_[m].compressor->EntriesIn(payload).value_or(members_[m].slice->elements));
      at += NextLine(payload.size());
    }
  }
  stream_.Copy(to_merge_.data(), arrived_.data(), at);
  return placed;
}

void GpuCompression::MergeMeans(std::span<const std::vector<Payload>> received) {
  MergePlaced(Upload(received));
}

void GpuCompression::MergeGathered(const std::byte* gathered, int ranks) {
  std::vector<std::vector<GpuMean::Payload>> placed(members_.size());
  for (std::size_t m = 0; m < members_.size(); ++m) {
    const Member& member = members_[m];
    const std::size_t entries = member.compressor->EntriesAt(step_.density);
    for (int rank = 0; rank < ranks; ++rank) {
      placed[m].push_back({gathered + static_cast<std::size_t>(rank) * bytes_ + member.payload_at,
                           static_cast<std::uint32_t>(entries)});
    }
  }
  MergePlaced(placed);
}

void GpuCompression::DeliverReduced(const std::byte* sums, std::size_t divisor) {
  // As of one rank that has sent the sum, and others that have sent nothing.
  std::vector<std::vector<GpuMean::Payload>> placed(members_.size());
  for (std::size_t m = 0; m < members_.size(); ++m) {
    placed[m].resize(divisor);
    placed[m].front() = {sums + members_[m].payload_at,
                         static_cast<std::uint32_t>(members_[m].slice->elements)};
  }
  MergePlaced(placed);
}

void GpuCompression::MergePlaced(std::span<const std::vector<GpuMean::Payload>> placed) {
  const GpuScope scope(stream_.gpu());
  ByKind<std::vector<GpuMean>> means;
  for (std::size_t m = 0; m < members_.size(); ++m) {
    const GradientSlice& slice = *members_[m].slice;
    GpuMean mean{.payloads = placed[m], .mean = slice.update, .dtype = slice.dtype};
    const auto* const dgc = std::get_if<GpuDgcRule>(&members_[m].compressor->rule());
    if (dgc != nullptr && dgc->gain_compensation) {
      mean.gain = static_cast<float>(MaskingGain(dgc->momentum, dgc->m, 1.0 / step_.density));
    }
    means[members_[m].kind()].push_back(mean);
  }
  ForEachKind(
      [&](std::size_t kind, auto& kernels) { kernels.MergeMean(means[kind], stream_.handle()); });
}

void GpuCompression::Finish(const GradientSlice& slice, std::span<const float> mean) {
  const GpuScope scope(stream_.gpu());
  const std::size_t elements = slices_.back().offset + slices_.back().elements;
  means_.Reserve(stream_.gpu(), Kind::kPinned, elements * sizeof(float));
  means_on_gpu_.Reserve(stream_.gpu(), Kind::kDevice, elements * sizeof(float));
  const std::size_t at = slice.offset * sizeof(float);
  std::memcpy(means_.data() + at, mean.data(), mean.size_bytes());
  stream_.Copy(means_on_gpu_.data() + at, means_.data() + at, mean.size_bytes());
  FinishOnGpu(slice, reinterpret_cast<const float*>(means_on_gpu_.data() + at));
}

void GpuCompression::FinishOnGpu(const GradientSlice& slice, const float* mean) {
  const GpuScope scope(stream_.gpu());
  const Member& member = MemberOf(slice);
  const auto group = static_cast<std::size_t>(slice.parameter_group);
  kernels_[member.kind()]->Finish(
      member.number,
      {.mean = mean, .out = slice.update, .dtype = slice.dtype, .step = step_.contexts[group].step},
      stream_.handle());
}

bool GpuCompression::Finishes(const GradientSlice& slice) const {
  const auto group = static_cast<std::size_t>(slice.parameter_group);
  return slice.gpu != nullptr && slice.gpu->FinishesOnGpu(step_.contexts[group]);
}

void GpuCompression::FetchFindings() {
  const GpuScope scope(stream_.gpu());
  ForEachKind([this](std::size_t, auto& kernels) { kernels.FetchReports(stream_.handle()); });
}

void GpuCompression::TellFindings() {
  for (const Member& member : members_) {
    const auto report = kernels_[member.kind()]->ReportOf(member.number);
    member.compressor->Tell({.threshold = report.kth_magnitude, .non_finite = report.non_finite});
  }
}

}  // namespace weir
