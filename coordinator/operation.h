#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "coordinator/bucket.h"
#include "coordinator/handle_table.h"
#include "metrics/bucket_names.h"
#include "ops/allgather.h"
#include "ops/allreduce.h"
#include "ops/broadcast.h"
#include "weir/tensor.h"

namespace weir {

/// Gives the memory for a result whose shape is known only once all ranks agreed. Called on the
/// network thread; what it throws becomes the operation's error on this rank.
using AllocateOutput = std::function<void*(const Shape& shape)>;

/// A single operation that a program submits by name: all-reduce, all-gather, broadcast, barrier.
/// The object lives as long as the engine and serves every later operation of that name, so that
/// submitting again allocates nothing.
class Operation final : public Bucket {
 public:
  Operation(std::string name, Transport& transport, HandleTable& handles);

  /// What one submission brings. Called only while the operation is idle.
  struct Submission {
    Request request;
    const void* in = nullptr;
    void* out = nullptr;
    AllocateOutput allocate;
    std::shared_ptr<const void> owner;
  };
  void Submit(Submission submission, Handle handle);

  const Request& request() const { return submission_.request; }
  /// What the slot stands for: a submission that asks for the same takes the fast path.
  /// Never for a group: a rank that registers something else under the name would wait for ever.
  bool MatchesSlot() const {
    return slot != kNoSlot && submission_.request.kind != RequestKind::kGroup &&
           agreed_request_ == submission_.request;
  }
  /// The ranks agreed on this submission; `first_dims` for an all-gather.
  void Agree(std::vector<std::int64_t> first_dims);

  const std::string& name() const override { return name_; }
  int priority() const override { return submission_.request.priority; }
  std::span<const BucketStage> stages() const override;
  void Run(BucketStage stage) override;
  Collective* BindExchange() override;
  void Done() override;
  void Failed(const std::exception_ptr& error) override;
  Traffic traffic() const override;
  std::uint8_t route_index() const override {
    return static_cast<std::uint8_t>(submission_.request.kind);
  }
  /// What the kinds of requests are called in records, by their value.
  static std::vector<RouteInfo> Routes();

  /// False between Submit and Done or Failed. Guarded by the engine's submission lock on one side
  /// and the end of the run on the other, hence atomic.
  bool busy() const { return busy_.load(std::memory_order_acquire); }

 private:
  void BindAllgather();
  void Finish(const std::exception_ptr& error);

  const std::string name_;
  Transport& transport_;
  HandleTable& handles_;
  Submission submission_;
  Handle handle_ = kNoHandle;
  std::atomic<bool> busy_ = false;
  std::optional<Request> agreed_request_;
  std::vector<std::int64_t> first_dims_;
  std::exception_ptr allocation_error_;
  std::vector<std::byte> discarded_;  ///< Takes the result when the program's allocation failed.
  std::unique_ptr<Allreduce> allreduce_;
  std::unique_ptr<Allgather> allgather_;
  std::unique_ptr<Broadcast> broadcast_;
};

}  // namespace weir
