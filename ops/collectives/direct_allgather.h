#pragma once

#include <cstdint>
#include <vector>

#include "ops/arrays/gather_task.h"
#include "ops/collectives/collective.h"
#include "ops/transport/chunk_stream.h"
#include "ops/transport/transport.h"

namespace weir {

/// All-gather in which every rank sends directly to every other.
class DirectAllgather final : public Collective {
 public:
  explicit DirectAllgather(Transport& transport);

  void Bind(const GatherTask& task) { task_ = task; }

  void Start(std::uint32_t operation) override;
  bool Poll() override;
  void Cancel() override;

 private:
  Transport& transport_;
  GatherTask task_;
  std::vector<ChunkStream> sends_;  ///< By rank; this rank's own is unused.
  std::vector<ChunkStream> receives_;
};

}  // namespace weir
