#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "ops/chunk_stream.h"
#include "ops/collective.h"
#include "ops/transport.h"

namespace weir {

/// Concatenates the ranks' byte arrays, whose lengths every rank knows, in rank order.
/// Every rank sends straight to every other.
class Allgather final : public Collective {
 public:
  explicit Allgather(Transport& transport);

  /// `bytes[r]` is what rank r contributes, the same array on all ranks; `in` has bytes[rank()]
  /// bytes and `out` the sum of all. `in` may already lie at its place in `out`, otherwise they do
  /// not overlap. Throws InvalidArgument when the lengths contradict each other.
  void Bind(std::span<const std::byte> in, std::span<std::byte> out,
            std::span<const std::size_t> bytes);

  void Start(std::uint32_t operation) override;
  bool Poll() override;
  void Cancel() override;

 private:
  Transport& transport_;
  std::span<const std::byte> in_;
  std::span<std::byte> out_;
  std::vector<std::size_t> offsets_;  ///< size() + 1 entries.
  std::vector<ChunkStream> sends_;    ///< By rank; this one's has nothing to do.
  std::vector<ChunkStream> receives_;
};

}  // namespace weir
