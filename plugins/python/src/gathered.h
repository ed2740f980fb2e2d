#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "weir/engine.h"

namespace weir::python {

/// The result of an operation whose shape is known only once the ranks agreed. The engine's network
/// thread asks for its memory; Python reads it after the operation was waited for. On the CPU that
/// thread allocates it without the interpreter. On a GPU the framework has to, because its memory
/// follows the order of a stream.
class Gathered {
 public:
  /// `make(shape)` returns the result, a tensor with data_ptr(); None: bytes on the CPU.
  Gathered(DType dtype, nanobind::object make);

  /// Returns the function that the engine calls for the memory. It keeps the result alive.
  AllocateOutput Allocator() const;

  void set_handle(Handle handle) { handle_ = handle; }
  Handle handle() const { return handle_; }

  /// An object that may be released without the interpreter.
  using Held = std::shared_ptr<nanobind::object>;

  /// The result's shape, the rows of each rank in it, and its bytes, aligned for every data
  /// type, or the tensor that was made.
  struct Memory {
    std::unique_ptr<std::byte[]> bytes;
    std::size_t size = 0;
    std::vector<std::int64_t> dims;
    std::vector<std::int64_t> rows;
    Held tensor;  ///< Null: bytes.
  };
  const std::shared_ptr<Memory>& memory() const { return memory_; }

 private:
  std::shared_ptr<Memory> memory_ = std::make_shared<Memory>();
  DType dtype_;
  Held make_;  ///< Null: bytes.
  Handle handle_ = kNoHandle;
};

}  // namespace weir::python
