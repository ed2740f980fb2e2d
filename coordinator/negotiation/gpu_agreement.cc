#include "coordinator/negotiation/gpu_agreement.h"

#include <algorithm>

namespace weir {

GpuAgreement AgreeOnGpus(std::span<const Request> requests, std::span<const int> ranks) {
  GpuAgreement agreement;
  for (std::size_t r = 0; r < requests.size(); ++r) {
    const std::string& gpu = requests[r].gpu;
    if (gpu.empty()) return {};
    const auto first = std::ranges::find(agreement.gpus, gpu);
    if (first != agreement.gpus.end()) {
      const int other = ranks[static_cast<std::size_t>(first - agreement.gpus.begin())];
      return {.trouble = "ranks " + std::to_string(other) + " and " + std::to_string(ranks[r]) +
                         " share the GPU " + gpu + ", which NCCL does not allow",
              .refused = std::ranges::any_of(requests, &Request::gpu_alone)};
    }
    agreement.gpus.push_back(gpu);
  }
  return agreement;
}

}  // namespace weir
