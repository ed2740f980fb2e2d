#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "ops/collectives/binomial_tree.h"
#include "ops/collectives/collective.h"
#include "ops/transport/chunk_stream.h"
#include "ops/transport/transport.h"

namespace weir {

/// Copies the root's bytes to all ranks along a binomial tree. A rank passes each chunk
/// on while the next one arrives.
class Broadcast final : public Collective {
 public:
  explicit Broadcast(Transport& transport);

  /// `data` has the same length on all ranks; it is read at `root` and written elsewhere.
  /// Throws InvalidArgument when there is no such root.
  void Bind(std::span<std::byte> data, int root);

  void Start(std::uint32_t operation) override;
  bool Poll() override;
  void Cancel() override;

 private:
  Transport& transport_;
  std::span<std::byte> data_;
  TreePosition position_;
  ChunkStream from_parent_;
  std::vector<ChunkStream> to_children_;  ///< The first position_.children.size() are in use.
};

}  // namespace weir
