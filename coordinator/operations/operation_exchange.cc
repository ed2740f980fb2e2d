#include "coordinator/operations/operation_exchange.h"

#include <new>
#include <numeric>
#include <string>
#include <utility>

#include "common/check.h"
#include "coordinator/network/set_network.h"
#include "weir/error.h"

namespace weir {
namespace {

std::int64_t Sum(std::span<const std::int64_t> rows) {
  return std::accumulate(rows.begin(), rows.end(), std::int64_t{0});
}

std::vector<std::size_t> BytesOf(std::span<const std::int64_t> rows, std::size_t row_bytes) {
  std::vector<std::size_t> bytes;
  for (const std::int64_t count : rows)
    bytes.push_back(static_cast<std::size_t>(count) * row_bytes);
  return bytes;
}

Reduction ReductionOf(const Request& request) {
  return {request.op, request.prescale, request.postscale};
}

}  // namespace

OperationExchange::OperationExchange(SetNetwork& network)
    : network_(network),
      ranks_(static_cast<std::size_t>(network.transport().size())),
      self_(static_cast<std::size_t>(network.transport().rank())),
      on_host_(network) {}

Collective* OperationExchange::Bind(const Submission& submission,
                                    std::span<const std::int64_t> rows, std::size_t chunk_bytes,
                                    nccl::Communicator* communicator) {
  submission_ = &submission;
  rows_ = rows;
  communicator_ = communicator;
  on_host_.set_chunk_bytes(chunk_bytes);
  switch (submission.request.kind) {
    case RequestKind::kAllreduce:
      return &BindAllreduce();
    case RequestKind::kAllgather:
      return &BindAllgather();
    case RequestKind::kBroadcast:
      return &BindBroadcast();
    case RequestKind::kAlltoall:
      return &BindAlltoall();
    case RequestKind::kReducescatter:
      return &BindReducescatter();
    case RequestKind::kSparseAllreduce:
      return &BindSparseAllreduce();
    case RequestKind::kBarrier:
    case RequestKind::kJoin:
    case RequestKind::kDropStep:
    case RequestKind::kUnused:
    case RequestKind::kPlan:
    case RequestKind::kGroup:
      return nullptr;
  }
  WEIR_CHECK(false);
  return nullptr;
}

Collectives& OperationExchange::collectives() {
  if (communicator_ == nullptr) return on_host_;
  if (!on_gpus_ || &on_gpus_->communicator() != communicator_) on_gpus_.emplace(*communicator_);
  return *on_gpus_;
}

Collective& OperationExchange::BindAllreduce() {
  const Reduction reduction = ReductionOf(submission_->request);
  if (reduction.op == ReduceOp::kAdasum) {
    if (!adasum_) adasum_ = std::make_unique<Adasum>(network_.transport());
    adasum_->Bind(submission_->tensors, reduction);
    return *adasum_;
  }
  return collectives().Allreduce(submission_->tensors, reduction);
}

Collective& OperationExchange::BindAllgather() {
  PrepareGathers();
  return collectives().Allgather(gathers_, bytes_);
}

Collective& OperationExchange::BindSparseAllreduce() {
  PrepareGathers();
  if (!sparse_allreduce_)
    sparse_allreduce_ =
        std::make_unique<SparseAllreduce>(network_.transport(), network_.allgather_grid());
  sparse_allreduce_->Bind(gathers_.front(), gathers_.back(), bytes_,
                          submission_->tensors.back().dtype, ReductionOf(submission_->request));
  return *sparse_allreduce_;
}

void OperationExchange::PrepareGathers() {
  const std::vector<Array>& tensors = submission_->tensors;
  CheckAnswer(tensors.size() * ranks_);
  gathers_.clear();
  bytes_.clear();
  for (std::size_t t = 0; t < tensors.size(); ++t) {
    const auto rows = rows_.subspan(t * ranks_, ranks_);
    for (const std::size_t bytes : BytesOf(rows, RowBytes(t))) bytes_.push_back(bytes);
    gathers_.push_back({.in = {static_cast<const std::byte*>(tensors[t].in), tensors[t].bytes()},
                        .out = Allocate(t, Sum(rows), rows)});
  }
}

Collective& OperationExchange::BindBroadcast() {
  const Array& tensor = submission_->tensors.front();
  return collectives().Broadcast({static_cast<std::byte*>(tensor.out), tensor.bytes()},
                                 network_.IndexOf(submission_->request.root));
}

Collective& OperationExchange::BindAlltoall() {
  CheckAnswer(ranks_ * ranks_);
  const std::vector<std::int64_t>& sent = submission_->request.splits;
  std::vector<std::int64_t> received;
  for (std::size_t r = 0; r < ranks_; ++r) received.push_back(rows_[r * ranks_ + self_]);
  const std::size_t row = RowBytes(0);
  const std::span<const std::byte> in{
      static_cast<const std::byte*>(submission_->tensors.front().in),
      static_cast<std::size_t>(Sum(sent)) * row};
  return collectives().Alltoall(in, BytesOf(sent, row), Allocate(0, Sum(received), received),
                                BytesOf(received, row));
}

Collective& OperationExchange::BindReducescatter() {
  parts_ = submission_->tensors;
  offsets_.clear();
  for (std::size_t t = 0; t < parts_.size(); ++t) {
    const std::size_t row = RowBytes(t) / SizeOf(parts_[t].dtype);
    std::vector<std::int64_t> rows;
    std::size_t offset = 0;
    for (std::size_t r = 0; r < ranks_; ++r) {
      rows.push_back(RowsOfRank(ShapeOf(t)[0], static_cast<int>(r), static_cast<int>(ranks_)));
      offsets_.push_back(offset);
      offset += static_cast<std::size_t>(rows.back()) * row;
    }
    offsets_.push_back(offset);
    parts_[t].out = Allocate(t, rows[self_], rows).data();
  }
  return collectives().ReduceScatter(parts_, offsets_, ReductionOf(submission_->request));
}

void OperationExchange::CheckAnswer(std::size_t rows) const {
  if (rows_.size() == rows) return;
  const std::string& name = submission_->request.name;
  throw Corrupt("an answer for '" + name + "' has " + std::to_string(rows_.size()) +
                    " numbers of rows where " + std::to_string(rows) + " belong",
                {name, {}, "negotiate"});
}

const Shape& OperationExchange::ShapeOf(std::size_t tensor) const {
  return submission_->request.shape_of(tensor);
}

std::size_t OperationExchange::RowBytes(std::size_t tensor) const {
  const Shape row(ShapeOf(tensor).dims().subspan(1));
  return static_cast<std::size_t>(row.elements()) * SizeOf(submission_->tensors[tensor].dtype);
}

void* OperationExchange::AskFor(std::size_t tensor, std::int64_t first_dim,
                                std::span<const std::int64_t> rows) const {
  const auto given = ShapeOf(tensor).dims();
  std::vector<std::int64_t> dims(given.begin(), given.end());
  dims[0] = first_dim;
  const Shape shape{std::span<const std::int64_t>(dims)};
  void* const out = submission_->allocate[tensor](shape, rows);
  if (out != nullptr || shape.elements() == 0) return out;
  const Request& request = submission_->request;
  throw InvalidArgument(
      "no memory was given for the result of " + std::string(Name(request.kind)) + " '" +
          request.tensor_name(tensor) + "', " +
          std::to_string(static_cast<std::size_t>(first_dim) * RowBytes(tensor)) + " bytes",
      {request.name, {network_.transport().JobRank(static_cast<int>(self_))}, "exchange"});
}

std::span<std::byte> OperationExchange::Allocate(std::size_t tensor, std::int64_t first_dim,
                                                 std::span<const std::int64_t> rows) {
  const std::size_t bytes = static_cast<std::size_t>(first_dim) * RowBytes(tensor);
  // The other ranks send whatever happens here: a failed allocation must not break their operation.
  try {
    return {static_cast<std::byte*>(AskFor(tensor, first_dim, rows)), bytes};
  } catch (...) {
    if (!allocation_error_) allocation_error_ = std::current_exception();
    return Discard(tensor, bytes);
  }
}

std::span<std::byte> OperationExchange::Discard(std::size_t tensor, std::size_t bytes) try {
  if (communicator_ != nullptr) {
    discarded_on_gpu_.emplace_back(communicator_->gpu(), GpuMemory::Kind::kDevice, bytes);
    return {discarded_on_gpu_.back().data(), bytes};
  }
  discarded_.push_back(std::make_unique_for_overwrite<std::byte[]>(bytes));
  return {discarded_.back().get(), bytes};
} catch (const std::exception&) {  // The host says bad_alloc, a GPU what CUDA says.
  const Request& request = submission_->request;
  throw Error("no memory for the " + std::to_string(bytes) + " bytes that other ranks send to '" +
                  request.tensor_name(tensor) + "'; make it smaller, or gather it in parts",
              {request.name, {network_.transport().JobRank(static_cast<int>(self_))}, "exchange"});
}

std::exception_ptr OperationExchange::TakeAllocationError() {
  return std::exchange(allocation_error_, nullptr);
}

void OperationExchange::Release() {
  allocation_error_ = nullptr;
  discarded_.clear();
  discarded_on_gpu_.clear();
}

}  // namespace weir
