#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "ops/collectives/collective.h"
#include "ops/collectives/direct_allgather.h"
#include "ops/collectives/hierarchical_allgather.h"
#include "ops/collectives/host_grid.h"
#include "ops/transport/transport.h"

namespace weir {

/// Concatenates the ranks' byte arrays, whose lengths every rank knows, in rank order. Each rank
/// receives from every other; where the ranks' hosts are given, host by host.
class Allgather final : public Collective {
 public:
  /// `grid`, if any, places the ranks of `transport`. It is read only here.
  explicit Allgather(Transport& transport, const HostGrid* grid = nullptr);

  /// `bytes[r]` is the length of rank r's contribution, the same array on all ranks; `in` has
  /// bytes[rank()] bytes and `out` the sum of all. `in` may already be at its place in `out`,
  /// otherwise they do not overlap. Throws InvalidArgument when the lengths contradict each other.
  void Bind(std::span<const std::byte> in, std::span<std::byte> out,
            std::span<const std::size_t> bytes);

  void Start(std::uint32_t operation) override { active().Start(operation); }
  bool Poll() override { return active().Poll(); }
  void Cancel() override { active().Cancel(); }

 private:
  Collective& active();

  Transport& transport_;
  std::vector<std::size_t> offsets_;       ///< size() + 1 entries.
  std::optional<DirectAllgather> direct_;  ///< Set, or else the hierarchical one.
  std::optional<HierarchicalAllgather> hierarchical_;
};

}  // namespace weir
