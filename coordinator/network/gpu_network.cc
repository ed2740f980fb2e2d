#include "coordinator/network/gpu_network.h"

#include <algorithm>

#include "coordinator/network/gpu_offers.h"

namespace weir {

nccl::Communicator& GpuNetwork::Between(const std::vector<std::string>& gpus, const Gpu& gpu) {
  std::unique_ptr<nccl::Communicator>& one = communicators_[gpus];
  if (!one)
    one = std::make_unique<nccl::Communicator>(offers_.api(), ranks_, gpu, offers_.patience());
  return *one;
}

bool GpuNetwork::must_poll() const {
  return std::ranges::any_of(communicators_,
                             [](const auto& entry) { return entry.second->must_poll(); });
}

void GpuNetwork::Close(std::chrono::milliseconds patience) {
  for (const auto& [gpus, communicator] : communicators_) communicator->Close(patience);
}

}  // namespace weir
