#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "ops/collectives/binomial_tree.h"
#include "ops/collectives/collective.h"
#include "ops/transport/pending.h"
#include "ops/transport/transport.h"

namespace weir {

/// Sends one message, whose length only rank 0 knows, from rank 0 to all along a binomial tree.
class BroadcastBytes final : public Collective {
 public:
  /// `max_bytes` is the same on all ranks, at most 1 GiB.
  BroadcastBytes(Transport& transport, std::size_t max_bytes);

  /// Binds rank 0's message; other ranks' argument is ignored. It must not change until the run is
  /// over. Throws InvalidArgument when it is longer than max_bytes.
  void Bind(std::span<const std::byte> message);

  void Start(std::uint32_t operation) override;
  bool Poll() override;
  void Cancel() override;

  /// Rank 0's message on every rank, after completion. Valid until the next Start.
  std::span<const std::byte> message() const { return message_; }

 private:
  void SendToChildren();

  Transport& transport_;
  std::size_t max_bytes_;
  std::span<const std::byte> bound_;
  std::span<const std::byte> message_;
  std::unique_ptr<std::byte[]> scratch_;
  TreePosition position_;
  std::uint32_t operation_ = 0;
  bool forwarded_ = true;
  Pending from_parent_;
  std::vector<Pending> to_children_;
};

}  // namespace weir
