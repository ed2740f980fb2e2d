#pragma once

#include <vector>

#include "coordinator/negotiation/request.h"

namespace weir::fuzz {

/// Returns one request of every kind.
inline std::vector<Request> SampleRequests() {
  std::vector<Request> requests;
  for (int kind = 0; kind < kRequestKinds; ++kind) {
    requests.push_back({.kind = static_cast<RequestKind>(kind),
                        .name = "tensor" + std::to_string(kind),
                        .shape = Shape{3, 5}});
  }
  requests[static_cast<std::size_t>(RequestKind::kAlltoall)].splits = {1, 2};
  Request& sparse = requests[static_cast<std::size_t>(RequestKind::kSparseAllreduce)];
  sparse.members = {{"", DType::kInt64, Shape{4}}, {"", DType::kFloat32, Shape{4, 2}}};
  Request& group = requests[static_cast<std::size_t>(RequestKind::kGroup)];
  group.members = {{"a", DType::kFloat16, Shape{4}}, {"b", DType::kFloat32, Shape{}}};
  group.settings = {{"compressor", "dgc"}, {"density", "0.001"}};
  group.slots = 4;
  group.gpu = "GPU-1";
  group.gpu_alone = true;
  return requests;
}

}  // namespace weir::fuzz
