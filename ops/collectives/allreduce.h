#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "ops/arrays/reduce.h"
#include "ops/collectives/chunked_allreduce.h"
#include "ops/collectives/collective.h"
#include "ops/collectives/hierarchical_allreduce.h"
#include "ops/collectives/host_grid.h"
#include "ops/collectives/whole_allreduce.h"
#include "ops/transport/transport.h"
#include "weir/dtype.h"

namespace weir {

/// Combines the same-shaped array of every rank; all ranks get the same bits.
///
/// Values are combined in rank order, all ranks' pieces at once, so the result depends neither on
/// the transport nor on timing (ops/arrays/reduce.h says how each type is rounded). Small arrays
/// are exchanged whole, larger ones in chunks. If the ranks' hosts are given, large ones are
/// combined host by host instead, in another order (ops/collectives/hierarchical_allreduce.h).
class Allreduce final {
 public:
  /// Arrays of at most this many bytes are exchanged whole.
  static constexpr std::size_t kWholeBytes = 4096;

  /// `grid`, if any, places the ranks of `transport`. It is read only here.
  explicit Allreduce(Transport& transport, const HostGrid* grid = nullptr);

  /// Sets the chunk size of the next Bind: a multiple of 64, the same on all ranks.
  void set_chunk_bytes(std::size_t bytes);

  /// Chooses the collective for a run and binds it: start and poll what this returns. `in` and
  /// `out` hold `elements` elements and are either the same memory or do not overlap.
  /// dtype, elements and reduction are the same on all ranks. Throws InvalidArgument for a
  /// reduction that `dtype` does not have. Allocates only when the scratch has to grow.
  [[nodiscard]] Collective& Bind(const void* in, void* out, std::int64_t elements, DType dtype,
                                 const Reduction& reduction = {});

 private:
  WholeAllreduce whole_;
  ChunkedAllreduce chunked_;
  std::optional<HierarchicalAllreduce> hierarchical_;
};

}  // namespace weir
