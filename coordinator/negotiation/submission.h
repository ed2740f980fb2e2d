#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "coordinator/negotiation/request.h"
#include "ops/array.h"
#include "weir/tensor.h"

namespace weir {

class Gpu;

/// What a program brings to one run of an operation.
struct Submission {
  Request request;
  /// The tensors that the request describes. `out` is null where the memory of the result, whose
  /// size comes with the agreement, is asked for: by `allocate`, one for each tensor.
  std::vector<Array> tensors;
  std::vector<AllocateOutput> allocate;
  /// Those of the tensors that lie on `gpu`, and in which stream the program works on them.
  struct OnGpu {
    std::size_t tensor = 0;
    void* stream = nullptr;
  };
  const Gpu* gpu = nullptr;
  std::vector<OnGpu> on_gpu;
  std::shared_ptr<const void> owner;
  bool patient = false;  ///< The other ranks may take as long as they like: no stall.

  /// What the ranks agreed on (Response).
  struct Agreed {
    std::uint32_t slot = kNoSlot;
    std::span<const std::int64_t> rows;
    std::span<const std::string> gpus;
  };
  /// Called by the network thread as soon as the ranks agree, in the order in which all ranks
  /// agree on operations. What it refers to must live until the handle is done.
  std::function<void(const Agreed&)> on_agreed;
};

}  // namespace weir
