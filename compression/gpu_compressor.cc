#include "compression/gpu_compressor.h"

#include <utility>

#include "common/check.h"

namespace weir {

GpuCompressor::GpuCompressor(std::unique_ptr<Compressor> cpu, std::size_t n, const Gpu& gpu)
    : cpu_(std::move(cpu)), rule_(cpu_->gpu_rule().value()), gpu_(gpu) {
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
