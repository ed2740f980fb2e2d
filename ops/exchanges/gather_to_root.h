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

/// Brings a message of its own length from every rank to rank 0, along a binomial tree on which
/// equal messages become one. So where ranks say the same, what a rank sends and receives does not
/// grow with their number, and rank 0 receives from log2(size()) others.
class GatherToRoot final : public Collective {
 public:
  /// `max_bytes` bounds each message, the same on all ranks, at most 1 GiB. What a rank passes on
  /// takes at most 1 GiB, too, address space for which is reserved for each child in the tree.
  GatherToRoot(Transport& transport, std::size_t max_bytes);

  /// `message` must not change until the run is over. Throws InvalidArgument when it is too long.
  void Bind(std::span<const std::byte> message);

  void Start(std::uint32_t operation) override;
  /// Throws Corrupt for what no rank can have sent, InvalidArgument for too much to pass on.
  bool Poll() override;
  void Cancel() override;

  /// A message, and the ranks that have sent it.
  struct Said {
    std::span<const std::byte> message;
    struct Range {
      int first = 0;
      int count = 0;
    };
    std::vector<Range> ranks;  ///< Ascending.
  };
  /// Messages by the first rank that has sent them, on rank 0 after completion. Empty on other
  /// ranks. Valid until the next Start.
  std::span<const Said> messages() const { return messages_; }

 private:
  struct Child {
    int rank = 0;
    int ranks = 0;  ///< In its part of the tree, from it on.
    std::size_t most = 0;
    std::unique_ptr<std::byte[]> buffer;
    Pending receive;
  };
  /// Most bytes that so many ranks pass on.
  std::size_t MostOf(int ranks) const;
  /// Puts together what this rank and its children's parts say.
  void Merge();
  void Read(const Child& child, std::vector<Said>& said) const;
  void Write();

  Transport& transport_;
  const std::size_t max_bytes_;
  std::span<const std::byte> message_;
  TreePosition position_;
  std::vector<Child> children_;
  std::vector<Said> messages_;
  std::vector<std::byte> up_;  ///< What goes to the parent.
  std::uint32_t operation_ = 0;
  bool merged_ = true;
  Pending send_;
};

}  // namespace weir
