#pragma once

#include <cstddef>
#include <utility>

#include "common/gpu/gpu.h"

namespace weir {

/// Offset, rounded up to a cache line, of the next part of such memory behind so many bytes.
constexpr std::size_t NextLine(std::size_t bytes) { return (bytes + 63) / 64 * 64; }

/// Memory of a GPU, or of the host for copies to and from it; not initialised.
class GpuMemory {
 public:
  enum class Kind : bool { kDevice, kPinned };

  GpuMemory() = default;
  GpuMemory(const Gpu& gpu, Kind kind, std::size_t bytes);
  ~GpuMemory();
  GpuMemory(GpuMemory&& other) noexcept { *this = std::move(other); }
  GpuMemory& operator=(GpuMemory&& other) noexcept;

  /// Makes room for so many bytes if there is less; the content is then lost.
  void Reserve(const Gpu& gpu, Kind kind, std::size_t bytes) {
    if (size_ < bytes) *this = GpuMemory(gpu, kind, bytes);
  }

  std::byte* data() const { return data_; }
  std::size_t size() const { return size_; }

 private:
  const Gpu* gpu_ = nullptr;
  Kind kind_ = Kind::kDevice;
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace weir
