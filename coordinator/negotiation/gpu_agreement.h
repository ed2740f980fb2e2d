#pragma once

#include <span>
#include <string>
#include <vector>

#include "coordinator/negotiation/request.h"

namespace weir {

/// How the tensors of an operation travel that all ranks have on GPUs.
struct GpuAgreement {
  std::vector<std::string> gpus;  ///< By rank: over NCCL, between these. Empty: through the host.
  std::string trouble;            ///< Why NCCL cannot, where all ranks would have used it,
  bool refused = false;           ///< and one of them takes nothing else.
};

/// Rank 0's decision: NCCL where every rank offers a GPU, each another one. `requests` and `ranks`
/// as for FindDisagreement, of all ranks.
GpuAgreement AgreeOnGpus(std::span<const Request> requests, std::span<const int> ranks);

}  // namespace weir
