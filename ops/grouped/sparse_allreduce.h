#pragma once

#include <cstddef>
#include <span>

#include "ops/arrays/reduce.h"
#include "ops/grouped/grouped_allgather.h"

namespace weir {

/// Sums sparse tensors by putting all ranks' entries one after the other. The
/// rank that has an entry scales it as a dense all-reduce would scale it if no
/// other rank had one at its place.
class SparseAllreduce final : public Collective {
 public:
  /// Arguments as for an Allgather.
  explicit SparseAllreduce(Transport& transport, const HostGrid* grid = nullptr)
      : ranks_(static_cast<std::size_t>(transport.size())),
        self_(static_cast<std::size_t>(transport.rank())),
        gather_(transport, grid) {}

  /// Indices and values are gathered as in GroupedAllgather::Bind; `bytes` has the lengths of the
  /// indices, then of the values. Applies the reduction, a sum or an average, to the values here.
  void Bind(const GatheredArray& indices, const GatheredArray& values,
            std::span<const std::size_t> bytes, DType dtype, const Reduction& reduction);

  void Start(std::uint32_t operation) override { gather_.Start(operation); }
  bool Poll() override { return gather_.Poll(); }
  void Cancel() override { gather_.Cancel(); }

 private:
  const std::size_t ranks_;
  const std::size_t self_;
  GroupedAllgather gather_;
};

}  // namespace weir
