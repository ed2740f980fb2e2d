#include "coordinator/operations/operation.h"

#include <algorithm>
#include <cctype>
#include <numeric>
#include <utility>

#include "common/check.h"
#include "coordinator/network/set_network.h"

namespace weir {

Operation::Operation(std::string name, ProcessSet& set, SetNetwork& network, HandleTable& handles)
    : name_(std::move(name)), network_(network), handles_(handles), exchange_(network) {
  process_set = &set;
}

void Operation::Submit(Submission submission) {
  WEIR_CHECK(!busy());
  submission_ = std::move(submission);
  if (submission_.gpu != nullptr) {
    if (!gpu_ || &gpu_->gpu() != submission_.gpu) {
      gpu_ = std::make_unique<GpuOperands>(*submission_.gpu);
    }
    gpu_->Bind(submission_);
    if (submission_.request.gpu.empty()) gpu_->StageOnHost(submission_);
  }
  handle_ = kNoHandle;
  busy_.store(true, std::memory_order_release);
}

void Operation::Agree(std::uint32_t agreed_slot, std::vector<std::int64_t> rows,
                      std::vector<std::string> gpus) {
  agreed_request_ = submission_.request;
  rows_ = std::move(rows);
  gpus_ = std::move(gpus);
  // Those of a group are its buckets'. Its registration has none: on the fast path a rank that
  // registers something else under the name would wait for ever.
  if (submission_.request.kind != RequestKind::kGroup) slot = agreed_slot;
  if (submission_.on_agreed)
    submission_.on_agreed({.slot = agreed_slot, .rows = rows_, .gpus = gpus_});
}

std::span<const BucketStage> Operation::stages() const {
  static constexpr BucketStage kStages[] = {BucketStage::kExchange};
  return kStages;
}

void Operation::Run(BucketStage) { WEIR_CHECK(false); }

Collective* Operation::BindExchange(std::size_t chunk_bytes) {
  if (submission_.gpu == nullptr) return exchange_.Bind(submission_, rows_, chunk_bytes);
  nccl::Communicator* communicator = nullptr;
  if (!gpus_.empty()) {
    communicator = &network_.gpus().Between(gpus_, *submission_.gpu);
    gpu_->ExchangeInPlace(submission_, communicator->stream());
  } else if (!submission_.request.gpu.empty()) {  // Not all ranks could.
    gpu_->StageOnHost(submission_);
  }
  gpu_->Use(exchange_.Bind(submission_, rows_, chunk_bytes, communicator));
  return gpu_.get();
}

void Operation::Finish(const std::exception_ptr& error) {
  // Once it is not busy the network thread may forget it: nothing of it is looked at after that.
  HandleTable& handles = handles_;
  const Handle handle = handle_;
  submission_.owner.reset();
  submission_.allocate.clear();
  submission_.on_agreed = nullptr;
  exchange_.Release();
  busy_.store(false, std::memory_order_release);
  handles.Complete(handle, error);
}

Bucket::Traffic Operation::traffic() const {
  const Request& request = submission_.request;
  std::uint64_t bytes = 0;
  for (const Array& tensor : submission_.tensors) bytes += tensor.bytes();
  if (request.kind == RequestKind::kAlltoall && request.shape[0] > 0) {  // The rest goes nowhere.
    const std::int64_t sent =
        std::accumulate(request.splits.begin(), request.splits.end(), std::int64_t{0});
    bytes = bytes / static_cast<std::uint64_t>(request.shape[0]) * static_cast<std::uint64_t>(sent);
  }
  return {.dense_bytes = bytes, .wire_bytes = bytes};
}

TrafficOp Operation::traffic_op() const {
  switch (submission_.request.kind) {
    case RequestKind::kAllreduce:
      return TrafficOp::kAllreduce;
    case RequestKind::kAllgather:
      return TrafficOp::kAllgather;
    case RequestKind::kBroadcast:
      return TrafficOp::kBroadcast;
    case RequestKind::kAlltoall:
      return TrafficOp::kAlltoall;
    case RequestKind::kReducescatter:
      return TrafficOp::kReducescatter;
    case RequestKind::kSparseAllreduce:
      return TrafficOp::kSparseAllreduce;
    case RequestKind::kBarrier:
      return TrafficOp::kBarrier;
    case RequestKind::kJoin:
    case RequestKind::kDropStep:
    case RequestKind::kUnused:
    case RequestKind::kPlan:
    case RequestKind::kGroup:
      break;
  }
  return TrafficOp::kOther;
}

std::vector<RouteInfo> Operation::Routes() {
  std::vector<RouteInfo> routes;
  for (int kind = 0; kind < kRequestKinds; ++kind) {
    std::string op(Name(static_cast<RequestKind>(kind)));
    std::ranges::transform(op, op.begin(), [](unsigned char c) { return std::tolower(c); });
    routes.push_back({.op = std::move(op)});
  }
  return routes;
}

}  // namespace weir
