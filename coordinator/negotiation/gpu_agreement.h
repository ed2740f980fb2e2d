#pragma once

#include <span>
#include <string>
#include <vector>

#include "coordinator/negotiation/request.h"

namespace weir {

/// The network of an operation whose tensors are on GPUs on all ranks.
struct GpuAgreement {
  std::vector<std::string> gpus;  ///< By rank: NCCL between these. Empty: through the host.
  std::string trouble;            ///< Why NCCL cannot be used, if all ranks would,
  bool refused = false;           ///< and one of them accepts nothing else.
};

/// Rank 0's decision: NCCL if every rank offers a GPU, each a different one. `requests` and `ranks`
/// as for FindDisagreement, of all ranks.
GpuAgreement AgreeOnGpus(std::span<const Request> requests, std::span<const int> ranks);

}  // namespace weir
