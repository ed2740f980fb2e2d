#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <vector>

#include "coordinator/submission.h"
#include "ops/adasum.h"
#include "ops/alltoall.h"
#include "ops/broadcast.h"
#include "ops/grouped_allgather.h"
#include "ops/grouped_allreduce.h"
#include "ops/grouped_reduce_scatter.h"
#include "ops/sparse_allreduce.h"

namespace weir {

class ProcessSet;

/// Binds the collective that a submission asks for. Each kind's is made when it is first needed and
/// kept, with its scratch memory. Network thread only, but for construction and Release.
class OperationExchange {
 public:
  explicit OperationExchange(ProcessSet& set);

  /// The collective, ready to start; null where agreement was the operation. `rows` is the
  /// answer's (Response); reductions travel in chunks of `chunk_bytes`. Asks for the memory of
  /// results: where that fails the run goes on all the same, as the other ranks count on this one.
  Collective* Bind(const Submission& submission, std::span<const std::int64_t> rows,
                   std::size_t chunk_bytes);

  /// Why the last Bind was given no memory; null if it was.
  std::exception_ptr TakeAllocationError();

  /// The run is over: gives back what took results that nobody wanted.
  void Release();

 private:
  Collective& BindAllreduce();
  Collective& BindAllgather();
  Collective& BindSparseAllreduce();
  Collective& BindBroadcast();
  Collective& BindAlltoall();
  Collective& BindReducescatter();
  /// Fills gathers_ and bytes_: every tensor's rows from every rank.
  void PrepareGathers();
  void CheckAnswer(std::size_t rows) const;
  const Shape& ShapeOf(std::size_t tensor) const;
  std::size_t RowBytes(std::size_t tensor) const;
  /// Memory for the result of a tensor, `rows` of which come from or go to each rank, `first_dim`
  /// of them here: the program's, or our own where it gave none.
  std::span<std::byte> Allocate(std::size_t tensor, std::int64_t first_dim,
                                std::span<const std::int64_t> rows);
  std::span<std::byte> Discard(std::size_t tensor, std::size_t bytes);
  void* AskFor(std::size_t tensor, std::int64_t first_dim,
               std::span<const std::int64_t> rows) const;

  ProcessSet& set_;
  const std::size_t ranks_;
  const std::size_t self_;
  const Submission* submission_ = nullptr;  ///< During Bind.
  std::span<const std::int64_t> rows_;
  std::size_t chunk_bytes_ = 0;

  std::exception_ptr allocation_error_;
  /// Take results for which the program gave no memory.
  std::vector<std::unique_ptr<std::byte[]>> discarded_;
  std::vector<GroupedAllgather::GatheredArray> gathers_;
  std::vector<std::size_t> bytes_;
  std::vector<Array> parts_;
  std::vector<std::size_t> offsets_;

  std::unique_ptr<GroupedAllreduce> allreduce_;
  std::unique_ptr<Adasum> adasum_;
  std::unique_ptr<GroupedAllgather> allgather_;
  std::unique_ptr<SparseAllreduce> sparse_allreduce_;
  std::unique_ptr<Broadcast> broadcast_;
  std::unique_ptr<Alltoall> alltoall_;
  std::unique_ptr<GroupedReduceScatter> reduce_scatter_;
};

}  // namespace weir
