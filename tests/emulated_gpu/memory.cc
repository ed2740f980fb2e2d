#include "tests/emulated_gpu/memory.h"

#include <sys/mman.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <map>

namespace weir::emulated {
namespace {

constexpr int kPattern = 0xa5;

void* AllocatePlain(std::size_t bytes) {
  void* const memory = std::malloc(bytes == 0 ? 1 : bytes);
  if (memory != nullptr) std::memset(memory, kPattern, bytes);
  return memory;
}

}  // namespace

#if defined(__SANITIZE_ADDRESS__)

void* AllocateMemory(std::size_t bytes) { return AllocatePlain(bytes); }
void ReleaseMemory(void* memory) { std::free(memory); }

MemoryAccess::MemoryAccess() = default;
MemoryAccess::~MemoryAccess() = default;

#else

namespace {

// Protection costs time in proportion to what is protected.
constexpr std::size_t kMostProtected = std::size_t{16} << 10;
constexpr std::size_t kArenaBytes = std::size_t{1} << 30;
constexpr std::size_t kStep = 256;  // Between addresses, as CUDA's.
constexpr std::size_t kPage = 4096;

/// Addresses, and which of them are in use.
class Arena {
 public:
  Arena() {
    void* const base =
        mmap(nullptr, kArenaBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED) {
      std::perror("emulated GPU: no addresses for its memory");
      std::abort();
    }
    base_ = static_cast<std::byte*>(base);
    free_.emplace(0, kArenaBytes);
  }

  void* Allocate(std::size_t bytes) {
    const std::size_t rounded = (bytes + kStep - 1) / kStep * kStep + (bytes == 0 ? kStep : 0);
    for (auto gap = free_.begin(); gap != free_.end(); ++gap) {
      const auto [at, size] = *gap;
      if (size < rounded) continue;
      free_.erase(gap);
      if (size > rounded) free_.emplace(at + rounded, size - rounded);
      used_.emplace(at, rounded);
      if (at + rounded > top_) top_ = (at + rounded + kPage - 1) / kPage * kPage;
      const MemoryAccess access;
      std::memset(base_ + at, kPattern, rounded);
      return base_ + at;
    }
    return nullptr;
  }

  bool Has(const void* memory) const {
    const auto* const byte = static_cast<const std::byte*>(memory);
    return byte >= base_ && byte < base_ + kArenaBytes;
  }

  void Release(void* memory) {
    const auto at = static_cast<std::size_t>(static_cast<std::byte*>(memory) - base_);
    const auto used = used_.find(at);
    if (used == used_.end()) {
      std::fprintf(stderr, "emulated GPU: what is released was not allocated\n");
      std::abort();
    }
    auto gap = free_.emplace(at, used->second).first;
    used_.erase(used);
    const auto next = std::next(gap);
    if (next != free_.end() && gap->first + gap->second == next->first) {
      gap->second += next->second;
      free_.erase(next);
    }
    if (gap == free_.begin()) return;
    const auto before = std::prev(gap);
    if (before->first + before->second != gap->first) return;
    before->second += gap->second;
    free_.erase(gap);
  }

  void Open() {
    if (users_++ == 0) Protect(PROT_READ | PROT_WRITE);
  }
  void Close() {
    if (--users_ == 0) Protect(PROT_NONE);
  }

 private:
  void Protect(int protection) {
    if (top_ > 0 && mprotect(base_, top_, protection) != 0) std::abort();
  }

  std::byte* base_ = nullptr;
  std::size_t top_ = 0;                      ///< Nothing was ever allocated beyond it.
  std::map<std::size_t, std::size_t> free_;  ///< Size by place; neighbours are one.
  std::map<std::size_t, std::size_t> used_;
  int users_ = 0;
};

Arena& TheArena() {
  static Arena* const arena = new Arena;
  return *arena;
}

}  // namespace

void* AllocateMemory(std::size_t bytes) {
  return bytes <= kMostProtected ? TheArena().Allocate(bytes) : AllocatePlain(bytes);
}
void ReleaseMemory(void* memory) {
  if (TheArena().Has(memory)) {
    TheArena().Release(memory);
  } else {
    std::free(memory);
  }
}

MemoryAccess::MemoryAccess() { TheArena().Open(); }
MemoryAccess::~MemoryAccess() { TheArena().Close(); }

#endif

}  // namespace weir::emulated
