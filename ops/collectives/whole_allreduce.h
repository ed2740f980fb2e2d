#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ops/arrays/reduce.h"
#include "ops/collectives/collective.h"
#include "ops/transport/pending.h"
#include "ops/transport/transport.h"

namespace weir {

/// All-reduce of a small array: every rank gets every rank's array and reduces by itself.
///
/// Up to kDirectRanks ranks send directly to each other, in one step; more gather by doubling, in
/// ceil(log2 size()) steps (Bruck et al. 1997). The output is written at the very end only.
class WholeAllreduce final : public Collective {
 public:
  static constexpr int kDirectRanks = 8;

  explicit WholeAllreduce(Transport& transport);

  void Bind(const ReduceTask& task);

  void Start(std::uint32_t operation) override;
  bool Poll() override;
  void Cancel() override;

 private:
  /// One message out and one in. The scratch holds the arrays of this rank, the next one, ...:
  /// place i is that of rank (rank() + i) % size().
  struct Transfer {
    int to = -1;
    int from = -1;
    std::size_t first_received = 0;  ///< Place of the first array received; sent ones start at 0.
    std::size_t count = 0;           ///< Arrays per message.
    bool depends = false;            ///< Sends arrays that earlier transfers received.
    Pending send;
    Pending receive;
  };
  void SendReady();
  void CheckLength(const Transfer& transfer) const;

  Transport& transport_;
  ReduceTask task_;
  std::vector<std::byte> scratch_;
  std::vector<const std::byte*> sources_;  ///< Into scratch_, by rank.
  std::vector<Transfer> transfers_;
  std::uint32_t operation_ = 0;
  std::size_t sent_ = 0;      ///< Transfers whose message was sent.
  std::size_t received_ = 0;  ///< Transfers whose message was received, in order.
  bool reduced_ = true;
};

}  // namespace weir
