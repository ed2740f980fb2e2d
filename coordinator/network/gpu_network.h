#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "ops/nccl/communicator.h"

namespace weir {

class GpuOffers;

/// NCCL between the ranks of a process set: a communicator for each agreed choice of GPUs, one of
/// every rank; usually there is one. Network thread only.
class GpuNetwork {
 public:
  GpuNetwork(const GpuOffers& offers, Transport& ranks) : offers_(offers), ranks_(ranks) {}

  /// `gpus` as agreed on (GpuAgreement); this rank's is `gpu`.
  nccl::Communicator& Between(const std::vector<std::string>& gpus, const Gpu& gpu);

  /// As for nccl::Communicator.
  bool must_poll() const;
  void Close(std::chrono::milliseconds patience);

 private:
  const GpuOffers& offers_;
  Transport& ranks_;
  std::map<std::vector<std::string>, std::unique_ptr<nccl::Communicator>> communicators_;
};

}  // namespace weir
