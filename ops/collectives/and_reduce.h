#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "ops/collectives/collective.h"
#include "ops/transport/pending.h"
#include "ops/transport/transport.h"

namespace weir {

/// Bitwise AND of a few words over all ranks: a round of the negotiator.
///
/// Dissemination in ceil(log2 size()) steps (Hensgen, Finkel, Manber 1988): in step k a rank
/// sends its words to rank + 2^k. AND is idempotent, so ranks that are counted twice do no harm
/// and any number of ranks works.
class AndReduce final : public Collective {
 public:
  explicit AndReduce(Transport& transport);

  /// `words` are this rank's bits and become the result. All ranks give the same number of words.
  /// Allocates only for more words than ever before.
  void Bind(std::span<std::uint64_t> words);

  void Start(std::uint32_t operation) override;
  /// Throws Corrupt when another rank sent a different number of words.
  bool Poll() override;
  void Cancel() override;

 private:
  struct Step {
    Pending send;
    Pending receive;
    std::vector<std::uint64_t> sent;
    std::vector<std::uint64_t> received;
  };
  void SendStep();
  void TakeStep();

  Transport& transport_;
  std::span<std::uint64_t> words_;
  std::uint32_t operation_ = 0;
  std::vector<Step> steps_;
  std::size_t step_ = 0;
};

}  // namespace weir
