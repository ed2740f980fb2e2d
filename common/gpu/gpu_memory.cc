#include "common/gpu/gpu_memory.h"

namespace weir {

GpuMemory::GpuMemory(const Gpu& gpu, Kind kind, std::size_t bytes)
    : gpu_(&gpu), kind_(kind), size_(bytes) {
  if (bytes == 0) return;
  const GpuScope scope(gpu);
  data_ = static_cast<std::byte*>(kind == Kind::kDevice ? gpu.api().allocate(bytes)
                                                        : gpu.api().allocate_pinned(bytes));
}

GpuMemory::~GpuMemory() {
  if (data_ == nullptr) return;
  GiveBack(*gpu_, [this](const GpuApi& api) {
    kind_ == Kind::kDevice ? api.release(data_) : api.release_pinned(data_);
  });
}

GpuMemory& GpuMemory::operator=(GpuMemory&& other) noexcept {
  std::swap(gpu_, other.gpu_);
  std::swap(kind_, other.kind_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

}  // namespace weir
