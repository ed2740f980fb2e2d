#pragma once

#include <cstdint>

#include "ops/collectives/and_reduce.h"
#include "ops/collectives/collective.h"
#include "ops/transport/transport.h"

namespace weir {

/// Completes on no rank before all ranks have started it. Dissemination, as AndReduce of no words.
class Barrier final : public Collective {
 public:
  explicit Barrier(Transport& transport) : and_(transport) { and_.Bind({}); }

  void Start(std::uint32_t operation) override { and_.Start(operation); }
  bool Poll() override { return and_.Poll(); }
  void Cancel() override { and_.Cancel(); }

 private:
  AndReduce and_;
};

}  // namespace weir
