#pragma once

#include <cstddef>

/// The memory of the emulated GPU: a part of the CPU's. Where it is small nothing may touch it but
/// kernels and copies, so that a program that forgets to copy ends. With AddressSanitizer it is all
/// plain memory instead, and what is found are kernels that leave theirs.
namespace weir::emulated {

/// Null where there is not that much. Filled with a pattern that no test expects.
void* AllocateMemory(std::size_t bytes);
void ReleaseMemory(void* memory);

/// While one lives, the memory can be read and written. Of one thread at a time.
class MemoryAccess {
 public:
  MemoryAccess();
  ~MemoryAccess();
  MemoryAccess(const MemoryAccess&) = delete;
  MemoryAccess& operator=(const MemoryAccess&) = delete;
};

}  // namespace weir::emulated
