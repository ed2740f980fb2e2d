#include "compression/gpu_compressor.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "common/check.h"
#include "compression/dgc_math.h"
#include "compression/sparse_payload.h"

namespace weir {

GpuCompressor::GpuCompressor(std::unique_ptr<Compressor> cpu, std::size_t n, const Gpu& gpu)
    : cpu_(std::move(cpu)), n_(n), rule_(cpu_->gpu_rule().value()), gpu_(gpu) {
  const GpuScope scope(gpu_);
  for (const StateArray& array : cpu_->State()) {
    WEIR_CHECK(array.values.size() == n);
    names_.push_back(array.name);
    arrays_.emplace_back(gpu_, GpuMemory::Kind::kDevice, n * sizeof(float));
    gpu_.api().clear(arrays_.back().data(), n * sizeof(float));
  }
}

float* GpuCompressor::Array(std::string_view name) const {
  for (std::size_t i = 0; i < names_.size(); ++i) {
    if (names_[i] == name) return reinterpret_cast<float*>(arrays_[i].data());
  }
  return nullptr;
}

std::unique_ptr<GpuBucketCompressor> MakeBucketOf(
    const GpuKernels& kernels, std::span<const GpuCompressor* const> compressors) {
  std::vector<GpuDgcTensor> sparse;
  std::vector<GpuDenseTensor> dense;
  std::vector<GpuCodecTensor> codecs;
  for (const GpuCompressor* const compressor : compressors) {
    const std::size_t n = compressor->elements();
    float* const momentum = compressor->Array("momentum");
    if (const auto* const dgc = std::get_if<GpuDgcRule>(&compressor->rule())) {
      sparse.push_back({.n = n,
                        .u = momentum,
                        .v = compressor->Array("velocity"),
                        .momentum = dgc->momentum,
                        .m = dgc->m,
                        .masking = dgc->masking,
                        .values = dgc->values});
    } else if (const auto* const rule = std::get_if<GpuDenseRule>(&compressor->rule())) {
      dense.push_back({.n = n,
                       .u = momentum,
                       .error = compressor->Array("error"),
                       .momentum = rule->momentum,
                       .m = rule->m,
                       .values = rule->values});
    } else {
      codecs.push_back({.n = n,
                        .momentum = momentum,
                        .error = compressor->Array("error"),
                        .rule = std::get<GpuCodecRule>(compressor->rule())});
    }
  }
  if (!sparse.empty()) return kernels.make_dgc(sparse);
  return dense.empty() ? kernels.make_codecs(codecs) : kernels.make_dense_momentum(dense);
}

std::size_t GpuCompressor::EntriesAt(double density) const {
  if (std::holds_alternative<GpuDgcRule>(rule_)) return EntriesToSend(n_, density);
  const auto* const rule = std::get_if<GpuCodecRule>(&rule_);
  if (rule == nullptr || !rule->selects()) return n_;
  return EntriesToSend(n_, density, rule->fixed_count);
}

void GpuCompressor::EncodeZeros(double density, std::span<std::byte> payload) const {
  std::vector<float> zeros(EntriesAt(density));
  if (const auto* const dense = std::get_if<GpuDenseRule>(&rule_)) {
    EncodeDense(zeros, dense->values, payload);
    return;
  }
  const auto* const codec = std::get_if<GpuCodecRule>(&rule_);
  if (codec != nullptr && codec->codec != GpuCodecRule::Codec::kTopK) {
    std::ranges::fill(payload, std::byte{0});  // Of the other codecs this is one.
    return;
  }
  std::vector<std::uint32_t> indices(zeros.size());
  std::iota(indices.begin(), indices.end(), 0u);
  const ValueType values = codec == nullptr ? std::get<GpuDgcRule>(rule_).values : codec->values;
  EncodeSparse(n_, indices, zeros, values, payload);
}

bool GpuCompressor::TakeRestored() { return std::exchange(restored_, false); }

std::size_t GpuCompressor::Encode(const StepContext&, std::span<const float>,
                                  std::span<std::byte>) {
  WEIR_CHECK(false);
  return 0;
}

void GpuCompressor::Finish(const StepContext& context, std::span<float> mean) {
  WEIR_CHECK(!FinishesOnGpu(context));
  cpu_->Finish(context, mean);
}

void GpuCompressor::Revert() { WEIR_CHECK(false); }

template <typename Copy>
void GpuCompressor::CopyState(const Copy& copy) {
  const GpuScope scope(gpu_);
  const std::vector<StateArray> state = cpu_->State();
  for (std::size_t i = 0; i < state.size(); ++i) {
    copy(state[i].values.data(), arrays_[i].data(), state[i].values.size_bytes());
  }
}

std::vector<Compressor::StateArray> GpuCompressor::State() {
  CopyState([this](float* host, std::byte* device, std::size_t bytes) {
    gpu_.api().copy(host, device, bytes);
  });
  return cpu_->State();
}

void GpuCompressor::Restored() {
  CopyState([this](float* host, std::byte* device, std::size_t bytes) {
    gpu_.api().copy(device, host, bytes);
  });
  restored_ = true;
}

}  // namespace weir
