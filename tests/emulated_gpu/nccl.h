#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "ops/nccl/api.h"
#include "tests/emulated_gpu/streams.h"

/// NCCL between the emulated GPUs of one process. Calls of a communicator enter the streams once
/// all ranks have made them, and are in progress until then. The first stream that comes so far
/// does the work, and makes the others come so far, too.
namespace weir::emulated {

enum class CallKind { kAllReduce, kReduce, kReduceScatter, kAllGather, kBroadcast, kSend, kRecv };

/// One call of a rank.
struct Call {
  CallKind kind;
  const std::byte* in = nullptr;
  std::byte* out = nullptr;
  std::size_t count = 0;
  nccl::DataType type{};
  nccl::RedOp op = 0;
  int peer = 0;  ///< The root of a collective, or the other end of a send or receive.
  std::shared_ptr<Stream> stream;
};

/// Bytes that a rank receives.
struct Result {
  std::byte* to;
  std::vector<std::byte> bytes;
};

/// Factor of a sum, by operator.
using Factors = std::map<nccl::RedOp, double>;

/// Returns each rank's results of calls that all ranks made together. Throws std::logic_error for
/// calls that do not fit together.
std::vector<std::vector<Result>> Compute(const std::vector<std::vector<Call>>& calls_of_rank,
                                         const std::vector<Factors>& factors_of_rank);

}  // namespace weir::emulated
