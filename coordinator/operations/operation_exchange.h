#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "common/gpu/gpu_memory.h"
#include "coordinator/negotiation/submission.h"
#include "coordinator/operations/host_collectives.h"
#include "ops/collectives/adasum.h"
#include "ops/grouped/sparse_allreduce.h"
#include "ops/nccl/collectives.h"

namespace weir {

class SetNetwork;

/// Binds the collective that a submission asks for. Each kind's is made when it is first needed and
/// kept, with its scratch memory. Network thread only, except construction and Release.
class OperationExchange {
 public:
  explicit OperationExchange(SetNetwork& network);

  /// Returns the collective, ready to start; null if agreement was the operation. `rows` are the
  /// answer's (Response); reductions travel in chunks of `chunk_bytes`. Requests the memory of
  /// results: if that fails the run goes on all the same, as the other ranks count on this one.
  /// `communicator` carries the tensors from GPU to GPU, if all memory is there; null: it is the
  /// host's.
  Collective* Bind(const Submission& submission, std::span<const std::int64_t> rows,
                   std::size_t chunk_bytes, nccl::Communicator* communicator = nullptr);

  /// Returns, once, why the last Bind got no memory; null if it got it.
  std::exception_ptr TakeAllocationError();

  /// Ends the run: frees the memory that took unwanted results.
  void Release();

 private:
  /// Returns the collectives that carry the run, over NCCL or the host.
  Collectives& collectives();
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
  /// Returns memory for the result of a tensor, `rows` of which come from or go to each rank,
  /// `first_dim` of them here: the program's, or our own if it gave none.
  std::span<std::byte> Allocate(std::size_t tensor, std::int64_t first_dim,
                                std::span<const std::int64_t> rows);
  std::span<std::byte> Discard(std::size_t tensor, std::size_t bytes);
  void* AskFor(std::size_t tensor, std::int64_t first_dim,
               std::span<const std::int64_t> rows) const;

  SetNetwork& network_;
  const std::size_t ranks_;
  const std::size_t self_;
  const Submission* submission_ = nullptr;  ///< Valid during Bind.
  std::span<const std::int64_t> rows_;
  nccl::Communicator* communicator_ = nullptr;

  std::exception_ptr allocation_error_;
  /// Memory of results for which the program gave none.
  std::vector<std::unique_ptr<std::byte[]>> discarded_;
  std::vector<GpuMemory> discarded_on_gpu_;
  std::vector<GatheredArray> gathers_;
  std::vector<std::size_t> bytes_;
  std::vector<Array> parts_;
  std::vector<std::size_t> offsets_;

  HostCollectives on_host_;
  std::optional<nccl::Collectives> on_gpus_;  ///< Collectives of the last run with a communicator.
  std::unique_ptr<Adasum> adasum_;
  std::unique_ptr<SparseAllreduce> sparse_allreduce_;
};

}  // namespace weir
