#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "coordinator/negotiation/submission.h"
#include "coordinator/operations/gpu_operands.h"
#include "coordinator/operations/operation_exchange.h"
#include "coordinator/work/bucket.h"
#include "coordinator/work/handle_table.h"
#include "metrics/records/bucket_names.h"

namespace weir {

/// A single operation that a program submits by name: all-reduce, all-gather, broadcast, ... The
/// object serves every later operation of that name as long as the name has a slot
/// (OperationTable).
class Operation final : public Bucket {
 public:
  Operation(std::string name, ProcessSet& set, SetNetwork& network, HandleTable& handles);

  /// Begins a run. The operation must be idle, and stays so if this throws. Nothing waits for the
  /// run unless it is given a handle before it is announced.
  void Submit(Submission submission);
  void set_handle(Handle handle) { handle_ = handle; }

  const Request& request() const { return submission_.request; }
  /// True if the other ranks may take as long as they like.
  bool patient() const { return submission_.patient; }
  /// True if the submission is what its slot stands for, and so takes the fast path.
  bool MatchesSlot() const { return slot != kNoSlot && agreed_request_ == submission_.request; }
  /// Notes that the ranks agreed on this submission.
  void Agree(std::uint32_t agreed_slot, std::vector<std::int64_t> rows,
             std::vector<std::string> gpus = {});

  const std::string& name() const override { return name_; }
  int priority() const override { return submission_.request.priority; }
  std::span<const BucketStage> stages() const override;
  void Run(BucketStage stage) override;
  Collective* BindExchange(std::size_t chunk_bytes) override;
  void Done() override { Finish(exchange_.TakeAllocationError()); }
  void Failed(const std::exception_ptr& error) override { Finish(error); }
  Traffic traffic() const override;
  std::uint8_t route_index() const override {
    return static_cast<std::uint8_t>(submission_.request.kind);
  }
  TrafficOp traffic_op() const override;
  /// Returns the names of the kinds of requests in records, by their value.
  static std::vector<RouteInfo> Routes();

  /// True between Submit and Done or Failed. Atomic, because the submitting thread sets it, and the
  /// thread that ends the run clears it.
  bool busy() const { return busy_.load(std::memory_order_acquire); }

 private:
  /// Ends the run. `error` must not be a member, as members are cleared.
  void Finish(const std::exception_ptr& error);

  const std::string name_;
  SetNetwork& network_;
  HandleTable& handles_;
  Submission submission_;
  Handle handle_ = kNoHandle;
  std::atomic<bool> busy_ = false;
  std::optional<Request> agreed_request_;
  std::vector<std::int64_t> rows_;  ///< Rows of the last answer (Response).
  std::vector<std::string> gpus_;
  OperationExchange exchange_;
  std::unique_ptr<GpuOperands> gpu_;  ///< Set once a submission had tensors on a GPU.
};

}  // namespace weir
