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
#include "ops/adasum.h"
#include "ops/allgather.h"
#include "ops/allreduce.h"
#include "ops/alltoall.h"
#include "ops/broadcast.h"
#include "ops/grouped_allreduce.h"
#include "ops/reduce_scatter.h"
#include "weir/tensor.h"

namespace weir {

/// A single operation that a program submits by name: all-reduce, all-gather, broadcast,
/// all-to-all, reduce-scatter, barrier. The object serves every later operation of that name as
/// long as the name has a slot, so that submitting again allocates nothing (OperationTable).
class Operation final : public Bucket {
 public:
  Operation(std::string name, ProcessSet& set, HandleTable& handles);

  /// What the ranks agreed on for a submission (Response).
  struct Agreement {
    std::uint32_t slot = kNoSlot;
    std::span<const std::int64_t> rows;
  };

  /// What one submission brings. Called only while the operation is idle.
  struct Submission {
    Request request;
    const void* in = nullptr;
    void* out = nullptr;
    AllocateOutput allocate;
    /// Of a grouped all-reduce; `request.members` describes them.
    std::vector<Array> arrays;
    std::shared_ptr<const void> owner;
    /// Called by the network thread as soon as the ranks agree, in the order in which all ranks
    /// agree on operations. What it refers to must live until the handle is done.
    std::function<void(const Agreement&)> on_agreed;
  };
  void Submit(Submission submission, Handle handle);

  const Request& request() const { return submission_.request; }
  /// What the slot stands for: a submission that asks for the same takes the fast path.
  bool MatchesSlot() const { return slot != kNoSlot && agreed_request_ == submission_.request; }
  /// The ranks agreed on this submission.
  void Agree(std::uint32_t agreed_slot, std::vector<std::int64_t> rows);

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
  Collective* BindAllreduce();
  void BindAllgather();
  void BindBroadcast();
  void BindAlltoall();
  void BindReducescatter();
  void CheckAnswer(std::size_t rows) const;
  std::size_t row_bytes() const;
  std::span<const std::byte> Input(std::int64_t rows) const;
  /// Memory for a result of `first_dim` rows: the program's, or our own where it gave none.
  std::span<std::byte> Allocate(std::int64_t first_dim, std::span<const std::int64_t> rows);
  /// `error` is none of its members.
  void Finish(const std::exception_ptr& error);

  const std::string name_;
  Transport& transport_;
  HandleTable& handles_;
  Submission submission_;
  Handle handle_ = kNoHandle;
  std::atomic<bool> busy_ = false;
  std::optional<Request> agreed_request_;
  std::vector<std::int64_t> rows_;  ///< Of the last answer (Response::rows).
  std::exception_ptr allocation_error_;
  std::vector<std::byte> discarded_;  ///< Takes the result when the program's allocation failed.
  std::unique_ptr<Allreduce> allreduce_;
  std::unique_ptr<Adasum> adasum_;
  std::unique_ptr<GroupedAllreduce> grouped_allreduce_;
  std::unique_ptr<Allgather> allgather_;
  std::unique_ptr<Broadcast> broadcast_;
  std::unique_ptr<Alltoall> alltoall_;
  std::unique_ptr<ReduceScatter> reduce_scatter_;
};

}  // namespace weir
