#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "ops/nccl/api.h"
#include "tests/emulated_gpu/streams.h"

/// NCCL between the emulated GPUs of one process. Calls of a communicator get into the streams once
/// all ranks have made them, and until then are in progress; what they do is done by the first
/// stream that comes so far, which has the others come so far, too.
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
  int peer = 0;  ///< The root of a collective; of whom to send to or receive from.
  std::shared_ptr<Stream> stream;
};

/// Bytes that a rank gets.
struct Result {
  std::byte* to;
  std::vector<std::byte> bytes;
};

/// What a factor of a sum multiplies, by operator.
using Factors = std::map<nccl::RedOp, double>;

/// What each rank gets of calls that all ranks made together. Throws std::logic_error with what
/// does not fit together.
std::vector<std::vector<Result>> Compute(const std::vector<std::vector<Call>>& calls_of_rank,
                                         const std::vector<Factors>& factors_of_rank);

}  // namespace weir::emulated
