#include "compression/state_buffer.h"

#include <sys/mman.h>

#include <algorithm>
#include <new>

namespace weir {
namespace {

constexpr std::size_t kCacheLine = 64;
constexpr std::size_t kHugePage = std::size_t{2} << 20;

}  // namespace

StateBuffer::StateBuffer(std::size_t n) : n_(n) {
  const std::size_t bytes = n * sizeof(float);
  const std::size_t alignment = bytes >= kHugePage ? kHugePage : kCacheLine;
  const std::size_t rounded =
      (std::max<std::size_t>(bytes, 1) + alignment - 1) / alignment * alignment;
  data_.reset(static_cast<float*>(std::aligned_alloc(alignment, rounded)));
  if (data_ == nullptr) throw std::bad_alloc();
  // Advice only: where it is not taken, small pages do.
  if (alignment == kHugePage) madvise(data_.get(), rounded, MADV_HUGEPAGE);
  std::fill_n(data_.get(), n, 0.0f);
}

}  // namespace weir
