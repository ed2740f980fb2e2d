#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "coordinator/negotiation/request.h"
#include "ops/arrays/array.h"
#include "weir/tensor.h"

namespace weir {

class Gpu;

/// A program's input for one run of an operation.
struct Submission {
  Request request;
  /// The tensors that the request describes. `out` is null if the size of the result comes with the
  /// agreement; `allocate` then returns its memory, for each tensor.
  std::vector<Array> tensors;
  std::vector<AllocateOutput> allocate;
  /// The tensors on `gpu`, and the stream in which the program works on them.
  struct OnGpu {
    std::size_t tensor = 0;
    void* stream = nullptr;
  };
  const Gpu* gpu = nullptr;
  std::vector<OnGpu> on_gpu;
  std::shared_ptr<const void> owner;
  bool patient = false;  ///< Other ranks may take as long as they like: no stall.

  /// Result of the agreement (Response).
  struct Agreed {
    std::uint32_t slot = kNoSlot;
    std::span<const std::int64_t> rows;
    std::span<const std::string> gpus;
  };
  /// Called by the network thread as soon as the ranks agree, in the order in which all ranks agree
  /// on operations. Objects it refers to must live until the handle is done.
  std::function<void(const Agreed&)> on_agreed;
};

}  // namespace weir
