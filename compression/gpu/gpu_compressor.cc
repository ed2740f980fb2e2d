#include "compression/gpu/gpu_compressor.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "common/check.h"
#include "common/half.h"
#include "compression/codecs/quantizer.h"
#include "compression/dgc/dgc_math.h"
#include "compression/wire/sparse_payload.h"

namespace weir {

GpuCompressor::GpuCompressor(std::unique_ptr<Compressor> cpu, std::size_t n, const Gpu& gpu)
    : cpu_(std::move(cpu)), n_(n), rule_(cpu_->gpu_rule().value()), gpu_(gpu) {
  const GpuScope scope(gpu_);
  for (const StateArray& array : cpu_->State()) {
    WEIR_CHECK(array.values.size() == n);
    names_.push_back(array.name);
    arrays_.emplace_back(gpu_, GpuMemory::Kind::kDevice, n * SizeOf(state_type()));
    gpu_.api().clear(arrays_.back().data(), arrays_.back().size());
  }
}

DType GpuCompressor::state_type() const {
  const auto* const dgc = std::get_if<GpuDgcRule>(&rule_);
  return dgc == nullptr ? DType::kFloat32 : dgc->state;
}

void* GpuCompressor::Array(std::string_view name) const {
  for (std::size_t i = 0; i < names_.size(); ++i) {
    if (names_[i] == name) return arrays_[i].data();
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
    void* const momentum = compressor->Array("momentum");
    if (const auto* const dgc = std::get_if<GpuDgcRule>(&compressor->rule())) {
      sparse.push_back({.n = n,
                        .u = momentum,
                        .v = compressor->Array("velocity"),
                        .state = dgc->state,
                        .seed = dgc->seed,
                        .momentum = dgc->momentum,
                        .m = dgc->m,
                        .masking = dgc->masking,
                        .values = dgc->values});
    } else if (const auto* const rule = std::get_if<GpuDenseRule>(&compressor->rule())) {
      dense.push_back({.n = n,
                       .u = static_cast<float*>(momentum),
                       .error = static_cast<float*>(compressor->Array("error")),
                       .momentum = rule->momentum,
                       .m = rule->m,
                       .values = rule->values});
    } else {
      codecs.push_back({.n = n,
                        .momentum = static_cast<float*>(momentum),
                        .error = static_cast<float*>(compressor->Array("error")),
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

std::size_t GpuCompressor::EncodedBytes(std::span<const std::byte> room) const {
  const auto* const rule = std::get_if<GpuCodecRule>(&rule_);
  if (rule == nullptr || rule->codec != GpuCodecRule::Codec::kLevels) return room.size();
  return QuantizerCodec::EncodedBytes(rule->levels, n_, room);
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

void GpuCompressor::Mark(GpuStream& stream) {
  marked_.resize(arrays_.size());
  for (std::size_t i = 0; i < arrays_.size(); ++i) {
    marked_[i].Reserve(gpu_, GpuMemory::Kind::kDevice, arrays_[i].size());
    stream.Copy(marked_[i].data(), arrays_[i].data(), arrays_[i].size());
  }
}

void GpuCompressor::GoBack(GpuStream& stream) {
  WEIR_CHECK(marked_.size() == arrays_.size());
  for (std::size_t i = 0; i < arrays_.size(); ++i) {
    stream.Copy(arrays_[i].data(), marked_[i].data(), arrays_[i].size());
  }
  restored_ = true;
}

bool GpuCompressor::TakeRestored() { return std::exchange(restored_, false); }

void GpuCompressor::Finish(const StepContext& context, std::span<float> mean) {
  WEIR_CHECK(!FinishesOnGpu(context));
  cpu_->Finish(context, mean);
}

template <typename Copy>
void GpuCompressor::CopyState(const Copy& copy) {
  const GpuScope scope(gpu_);
  const std::vector<StateArray> state = cpu_->State();
  for (std::size_t i = 0; i < state.size(); ++i) copy(state[i].values, arrays_[i].data());
}

std::vector<TensorCompression::StateArray> GpuCompressor::State() {
  std::vector<std::uint16_t> halves;
  CopyState([&](std::span<float> values, const std::byte* on_gpu) {
    if (state_type() == DType::kFloat32) {
      return gpu_.api().copy(values.data(), on_gpu, values.size_bytes());
    }
    halves.resize(values.size());
    gpu_.api().copy(halves.data(), on_gpu, halves.size() * sizeof(std::uint16_t));
    std::ranges::transform(halves, values.begin(), BFloat16ToFloat);
  });
  return cpu_->State();
}

void GpuCompressor::Restored() {
  std::vector<std::uint16_t> halves;
  CopyState([&](std::span<const float> values, std::byte* on_gpu) {
    if (state_type() == DType::kFloat32) {
      return gpu_.api().copy(on_gpu, values.data(), values.size_bytes());
    }
    halves.resize(values.size());
    std::ranges::transform(values, halves.begin(), FloatToBFloat16);
    gpu_.api().copy(on_gpu, halves.data(), halves.size() * sizeof(std::uint16_t));
  });
  restored_ = true;
}

}  // namespace weir
