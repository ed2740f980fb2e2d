#pragma once

#include <cstddef>

/// The memory of the emulated GPU: a part of the CPU's. If it is small, only kernels and copies may
/// touch it, so a program that forgets to copy ends. With AddressSanitizer it is plain memory
/// instead, and kernels that leave theirs are found.
namespace weir::emulated {

/// Returns null if there is not that much. Fills it with a pattern that no test expects.
void* AllocateMemory(std::size_t bytes);
void ReleaseMemory(void* memory);

/// Allows reads and writes of the memory while it lives. One thread at a time.
class MemoryAccess {
 public:
  MemoryAccess();
  ~MemoryAccess();
  MemoryAccess(const MemoryAccess&) = delete;
  MemoryAccess& operator=(const MemoryAccess&) = delete;
};

}  // namespace weir::emulated
