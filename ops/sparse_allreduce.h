#pragma once

#include <cstddef>
#include <span>

#include "ops/grouped_allgather.h"
#include "ops/reduce.h"

namespace weir {

/// Sums sparse tensors by putting all ranks' entries one after the other. Every entry is scaled as
/// a dense all-reduce would scale it if no other rank had one at its place.
class SparseAllreduce final : public Collective {
 public:
  /// As for an Allgather.
  explicit SparseAllreduce(Transport& transport, const HostGrid* grid = nullptr)
      : ranks_(static_cast<std::size_t>(transport.size())), gather_(transport, grid) {}

  using Item = GroupedAllgather::Item;
  /// Indices and values are gathered as GroupedAllgather::Bind says, `bytes` being of the indices,
  /// then of the values. The reduction, a sum or an average, is done on the values.
  void Bind(const Item& indices, const Item& values, std::span<const std::size_t> bytes,
            DType dtype, const Reduction& reduction);

  void Start(std::uint32_t operation) override;
  bool Poll() override;
  void Cancel() override { gather_.Cancel(); }

 private:
  const std::size_t ranks_;
  GroupedAllgather gather_;
  std::span<std::byte> values_;
  DType dtype_ = DType::kFloat32;
  Reduction reduction_;
  bool scaled_ = false;
};

}  // namespace weir
