#pragma once

#include <cstddef>
#include <span>

#include "common/unique_fd.h"

namespace weir {

/// Memory that two processes see, zero at first (memfd_create(2)). Its pages take memory when they
/// are first touched. Mapped as long as the object lives.
class SharedMemory {
 public:
  /// Makes new memory. Throws Error, with what the system says.
  explicit SharedMemory(std::size_t bytes);
  /// Maps the memory of another process, and needs its descriptor no more. Throws Error.
  SharedMemory(UniqueFd fd, std::size_t bytes);
  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  /// Descriptor of new memory, for the other process; until Close.
  int fd() const { return fd_.get(); }
  /// Closes the descriptor: there may be thousands of these.
  void Close() { fd_.reset(); }
  std::span<std::byte> bytes() const { return bytes_; }

 private:
  void Map(std::size_t bytes);

  UniqueFd fd_;
  std::span<std::byte> bytes_;
};

}  // namespace weir
