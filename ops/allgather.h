#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "ops/collective.h"
#include "ops/direct_allgather.h"
#include "ops/hierarchical_allgather.h"
#include "ops/host_grid.h"
#include "ops/transport.h"

namespace weir {

/// Concatenates the ranks' byte arrays, whose lengths every rank knows, in rank order: every rank
/// from every other, or, where the ranks' hosts are given, host by host.
class Allgather final : public Collective {
 public:
  /// `grid`, where there is one, places the ranks of `transport`, and is read here alone.
  explicit Allgather(Transport& transport, const HostGrid* grid = nullptr);

  /// `bytes[r]` is what rank r contributes, the same array on all ranks; `in` has bytes[rank()]
  /// bytes and `out` the sum of all. `in` may already lie at its place in `out`, otherwise they do
  /// not overlap. Throws InvalidArgument when the lengths contradict each other.
  void Bind(std::span<const std::byte> in, std::span<std::byte> out,
            std::span<const std::size_t> bytes);

  void Start(std::uint32_t operation) override { active().Start(operation); }
  bool Poll() override { return active().Poll(); }
  void Cancel() override { active().Cancel(); }

 private:
  Collective& active();

  Transport& transport_;
  std::vector<std::size_t> offsets_;       ///< size() + 1 entries.
  std::optional<DirectAllgather> direct_;  ///< One of the two.
  std::optional<HierarchicalAllgather> hierarchical_;
};

}  // namespace weir
