#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "weir/engine.h"

namespace weir::python {

/// The result of an operation whose shape is known only once the ranks agreed. The engine's network
/// thread allocates it, without the interpreter; Python looks after the operation was waited for.
class Gathered {
 public:
  /// What the engine calls for the memory. Holds on to the result on its own.
  AllocateOutput Allocator(DType dtype);

  void set_handle(Handle handle) { handle_ = handle; }
  Handle handle() const { return handle_; }

  /// The result's shape, the rows of each rank in it, and its bytes, aligned for every data type.
  struct Memory {
    std::unique_ptr<std::byte[]> bytes;
    std::size_t size = 0;
    std::vector<std::int64_t> dims;
    std::vector<std::int64_t> rows;
  };
  const std::shared_ptr<Memory>& memory() const { return memory_; }

 private:
  std::shared_ptr<Memory> memory_ = std::make_shared<Memory>();
  Handle handle_ = kNoHandle;
};

}  // namespace weir::python
