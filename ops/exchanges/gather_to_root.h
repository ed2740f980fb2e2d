#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "ops/collectives/collective.h"
#include "ops/transport/pending.h"
#include "ops/transport/transport.h"

namespace weir {

/// Sends one message of its own length from every rank to rank 0.
class GatherToRoot final : public Collective {
 public:
  /// `max_bytes` bounds each message, the same on all ranks, at most 1 GiB. Rank 0 reserves
  /// (size() - 1) times as much address space.
  GatherToRoot(Transport& transport, std::size_t max_bytes);

  /// `message` must not change until the run is over. Throws InvalidArgument when it is too long.
  void Bind(std::span<const std::byte> message);

  void Start(std::uint32_t operation) override;
  bool Poll() override;
  void Cancel() override;

  /// Messages in rank order, on rank 0 after completion; its own is the bound one. Empty on other
  /// ranks. Valid until the next Start.
  std::span<const std::span<const std::byte>> messages() const { return messages_; }

 private:
  std::byte* Slot(std::size_t receive);

  Transport& transport_;
  std::size_t max_bytes_;
  std::span<const std::byte> message_;
  std::unique_ptr<std::byte[]> scratch_;
  std::vector<std::span<const std::byte>> messages_;
  Pending send_;                   ///< Used on ranks other than 0.
  std::vector<Pending> receives_;  ///< Used on rank 0: from rank 1, 2, ...
};

}  // namespace weir
