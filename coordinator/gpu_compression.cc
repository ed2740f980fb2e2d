#include "coordinator/gpu_compression.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "common/check.h"
#include "compression/sparse_payload.h"
#include "coordinator/gradient_slices.h"

namespace weir {
namespace {

using Kind = GpuMemory::Kind;
using Count = unsigned long long;

}  // namespace

std::unique_ptr<GpuCompression> GpuCompression::Make(GpuStream& stream,
                                                     std::span<const GradientSlice> slices,
                                                     const GroupStep& step) {
  std::vector<Member> members;
  std::size_t sparse = 0;
  std::size_t dense = 0;
  for (const GradientSlice& slice : slices) {
    GpuCompressor* const compressor = slice.compressor->gpu();
    if (compressor == nullptr) continue;
    Member member{.slice = &slice, .compressor = compressor, .number = 0};
    member.number = IsSparse(member) ? sparse++ : dense++;
    members.push_back(member);
  }
  if (members.empty()) return nullptr;
  return std::unique_ptr<GpuCompression>(
      new GpuCompression(stream, std::move(members), slices, step));
}

GpuCompression::GpuCompression(GpuStream& stream, std::vector<Member> members,
                               std::span<const GradientSlice> slices, const GroupStep& step)
    : stream_(stream),
      slices_(slices),
      step_(step),
      kernels_(*KernelsOf(stream.gpu().library())),
      members_(std::move(members)) {
  const Gpu& gpu = stream.gpu();
  const GpuScope scope(gpu);
  std::vector<GpuDgcTensor> sparse;
  std::vector<GpuDenseTensor> dense;
  for (const Member& member : members_) {
    const GpuRule& rule = member.compressor->rule();
    float* const momentum = member.compressor->momentum();
    float* const kept = member.compressor->kept();
    const std::size_t n = member.slice->elements;
    if (IsSparse(member)) {
      sparse.push_back({.n = n,
                        .u = momentum,
                        .v = kept,
                        .momentum = rule.momentum,
                        .m = rule.m,
                        .masking = rule.masking,
                        .values = rule.values});
    } else {
      dense.push_back({.n = n,
                       .u = momentum,
                       .error = kept,
                       .momentum = rule.momentum,
                       .m = rule.m,
                       .values = rule.values});
    }
  }
  if (!sparse.empty()) dgc_ = kernels_.make_dgc(sparse);
  if (!dense.empty()) momentum_ = kernels_.make_dense_momentum(dense);
  const std::size_t bytes = members_.size() * sizeof(Count);
  counts_ = GpuMemory(gpu, Kind::kPinned, bytes);
  counts_on_gpu_ = GpuMemory(gpu, Kind::kDevice, bytes);
  gpu.api().clear(counts_on_gpu_.data(), bytes);
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

std::span<const std::byte> GpuCompression::payloads() const { return {on_gpu_.data(), bytes_}; }

void GpuCompression::ForgetRestored() {
  bool restored = false;
  for (const Member& member : members_) restored |= member.compressor->TakeRestored();
  if (!restored) return;
  if (dgc_) dgc_->Forget(stream_.handle());
  if (momentum_) momentum_->Forget(stream_.handle());
}

template <typename SourceOf>
void GpuCompression::EncodeFrom(const SourceOf& source_of) {
  const GpuScope scope(stream_.gpu());
  ForgetRestored();
  PlacePayloads();
  std::vector<GpuDgc::Part> sparse;
  std::vector<GpuDenseMomentum::Part> dense;
  for (const Member& member : members_) {
    const Source source = source_of(*member.slice);
    std::byte* const payload = on_gpu_.data() + member.payload_at;
    if (IsSparse(member)) {
      sparse.push_back({.gradient = source.gradient,
                        .dtype = source.dtype,
                        .scale = source.scale,
                        .k = EntriesToSend(member.slice->elements, step_.density),
                        .payload = payload});
    } else {
      dense.push_back({.gradient = source.gradient,
                       .dtype = source.dtype,
                       .scale = source.scale,
                       .payload = payload});
    }
  }
  if (dgc_) dgc_->Encode(sparse, stream_.handle());
  if (momentum_) momentum_->Encode(dense, stream_.handle());
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
    const std::size_t n = member.slice->elements;
    const std::span<std::byte> out =
        std::span(payloads).subspan(member.payload_at, member.payload_bytes);
    const std::size_t k = IsSparse(member) ? EntriesToSend(n, step_.density) : n;
    std::vector<float> zeros(k);
    if (IsSparse(member)) {
      std::vector<std::uint32_t> indices(k);
      std::iota(indices.begin(), indices.end(), 0u);
      EncodeSparse(n, indices, zeros, member.compressor->rule().values, out);
    } else {
      EncodeDense(zeros, member.compressor->rule().values, out);
    }
  }
  stream_.gpu().api().copy(on_gpu_.data(), payloads.data(), payloads.size());
}

GpuCompression::Payload GpuCompression::PayloadOf(const GradientSlice& slice) const {
  const Member& member = MemberOf(slice);
  return {encoded_.data() + member.payload_at, member.payload_bytes};
}

void GpuCompression::Undo() {
  const GpuScope scope(stream_.gpu());
  ForgetRestored();
  if (dgc_) dgc_->Undo(stream_.handle());
  if (momentum_) momentum_->Undo(stream_.handle());
  stream_.Await();
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
      if (IsSparse(members_[m])) {
        one.entries = static_cast<std::uint32_t>(SparseEntryCount(payload));
      }
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
    const std::size_t entries =
        IsSparse(member) ? EntriesToSend(member.slice->elements, step_.density) : 0;
    for (int rank = 0; rank < ranks; ++rank) {
      placed[m].push_back({gathered + static_cast<std::size_t>(rank) * bytes_ + member.payload_at,
                           static_cast<std::uint32_t>(entries)});
    }
  }
  MergePlaced(placed);
}

void GpuCompression::MergePlaced(std::span<const std::vector<GpuMean::Payload>> placed) {
  const GpuScope scope(stream_.gpu());
  std::vector<GpuMean> sparse;
  std::vector<GpuMean> dense;
  for (std::size_t m = 0; m < members_.size(); ++m) {
    const GradientSlice& slice = *members_[m].slice;
    const GpuRule& rule = members_[m].compressor->rule();
    GpuMean mean{.payloads = placed[m], .mean = slice.update, .dtype = slice.dtype};
    if (rule.gain_compensation) {
      mean.gain = static_cast<float>(MaskingGain(rule.momentum, rule.m, 1.0 / step_.density));
    }
    (IsSparse(members_[m]) ? sparse : dense).push_back(mean);
  }
  if (dgc_) dgc_->MergeMean(sparse, stream_.handle());
  if (momentum_) momentum_->MergeMean(dense, stream_.handle());
}

void GpuCompression::Finish(const GradientSlice& slice, std::span<const float> mean) {
  const GpuScope scope(stream_.gpu());
  const Member& member = MemberOf(slice);
  const std::size_t elements = slices_.back().offset + slices_.back().elements;
  means_.Reserve(stream_.gpu(), Kind::kPinned, elements * sizeof(float));
  means_on_gpu_.Reserve(stream_.gpu(), Kind::kDevice, elements * sizeof(float));
  const std::size_t at = slice.offset * sizeof(float);
  std::memcpy(means_.data() + at, mean.data(), mean.size_bytes());
  stream_.Copy(means_on_gpu_.data() + at, means_.data() + at, mean.size_bytes());
  const auto number = static_cast<std::size_t>(&member - members_.data());
  kernels_.apply_momentum({.momentum = member.compressor->rule().momentum,
                           .m = member.compressor->rule().m,
                           .u = member.compressor->momentum(),
                           .mean = reinterpret_cast<const float*>(means_on_gpu_.data() + at),
                           .out = slice.update,
                           .n = slice.elements,
                           .dtype = slice.dtype,
                           .non_finite = reinterpret_cast<Count*>(counts_on_gpu_.data()) + number},
                          stream_.handle());
}

void GpuCompression::FetchFindings() {
  const GpuScope scope(stream_.gpu());
  if (dgc_) dgc_->FetchReports(stream_.handle());
  if (momentum_) momentum_->FetchCounts(stream_.handle());
  stream_.Copy(counts_.data(), counts_on_gpu_.data(), counts_.size());
}

void GpuCompression::TellFindings() {
  for (std::size_t m = 0; m < members_.size(); ++m) {
    const Member& member = members_[m];
    GpuCompressor::Findings findings;
    findings.non_finite = reinterpret_cast<const Count*>(counts_.data())[m];
    if (IsSparse(member)) {
      const GpuDgc::Report report = dgc_->ReportOf(member.number);
      findings.threshold = report.kth_magnitude;
      findings.non_finite += report.non_finite;
    } else {
      findings.non_finite += momentum_->NonFinite(member.number);
    }
    member.compressor->Tell(findings);
  }
}

}  // namespace weir
