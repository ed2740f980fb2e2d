#pragma once

#include <cstddef>
#include <span>

#include "ops/arrays/array.h"
#include "ops/arrays/gathered_array.h"
#include "ops/arrays/reduce.h"
#include "ops/collectives/collective.h"

namespace weir {

/// The collectives that operations on a network are made of, each kept with its memory. Every
/// function binds one to its next run and returns it. It throws InvalidArgument for contradictory
/// sizes. Not thread-safe: network thread only.
class Collectives {
 public:
  virtual ~Collectives() = default;

  /// Combines arrays of every rank.
  virtual Collective& Allreduce(std::span<const Array> arrays, const Reduction& reduction) = 0;
  /// Concatenates each array over all ranks; bytes[i * size + r] is the length of
  /// rank r's contribution to array i.
  virtual Collective& Allgather(std::span<const GatheredArray> arrays,
                                std::span<const std::size_t> bytes) = 0;
  /// Copies the bytes of rank `root` of the group to all.
  virtual Collective& Broadcast(std::span<std::byte> data, int root) = 0;
  /// `in` holds the bytes for rank 0, rank 1, ..., `out` takes the bytes from them.
  virtual Collective& Alltoall(std::span<const std::byte> in,
                               std::span<const std::size_t> send_bytes, std::span<std::byte> out,
                               std::span<const std::size_t> receive_bytes) = 0;
  /// Combines arrays of every rank. Rank r gets the elements offsets[i * (size + 1) + r] up to the
  /// next border of array i; each `out` takes this rank's part alone.
  virtual Collective& ReduceScatter(std::span<const Array> arrays,
                                    std::span<const std::size_t> offsets,
                                    const Reduction& reduction) = 0;
};

}  // namespace weir
