#include "compression/memory/state_buffer.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace weir {
namespace {

constexpr std::size_t kCacheLine = 64;
constexpr std::size_t kHugePage = std::size_t{2} << 20;

}  // namespace

StateBuffer::StateBuffer(std::size_t n) : n_(n) {
  const std::size_t bytes = std::max<std::size_t>(n * sizeof(float), 1);
  if (bytes < kHugePage) {
    const std::size_t rounded = (bytes + kCacheLine - 1) / kCacheLine * kCacheLine;
    data_.reset(static_cast<float*>(std::aligned_alloc(kCacheLine, rounded)));
    if (data_ == nullptr) throw std::bad_alloc();
    std::fill_n(data_.get(), n, 0.0f);
    return;
  }
  // One page more than needed, to begin at a multiple of a page.
  const std::size_t rounded = (bytes + kHugePage - 1) / kHugePage * kHugePage;
  void* const mapped = mmap(nullptr, rounded + kHugePage, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) throw std::bad_alloc();
  auto* const begin = static_cast<std::byte*>(mapped);
  const std::size_t before = kHugePage - reinterpret_cast<std::uintptr_t>(mapped) % kHugePage;
  munmap(begin, before);
  if (before < kHugePage) munmap(begin + before + rounded, kHugePage - before);
  data_ = {reinterpret_cast<float*>(begin + before), Free{rounded}};
  // Advice only: without it, small pages work too.
  madvise(data_.get(), rounded, MADV_HUGEPAGE);
}

void StateBuffer::Free::operator()(float* data) const {
  if (mapped > 0) {
    munmap(data, mapped);
  } else {
    std::free(data);
  }
}

}  // namespace weir
