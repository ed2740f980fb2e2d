#include "coordinator/operation.h"

#include <algorithm>
#include <cctype>
#include <numeric>
#include <utility>

#include "common/check.h"
#include "coordinator/process_set.h"
#include "weir/error.h"

namespace weir {
namespace {

std::vector<std::size_t> BytesOf(std::span<const std::int64_t> rows, std::size_t row_bytes) {
  std::vector<std::size_t> bytes;
  for (const std::int64_t count : rows)
    bytes.push_back(static_cast<std::size_t>(count) * row_bytes);
  return bytes;
}

}  // namespace

Operation::Operation(std::string name, ProcessSet& set, HandleTable& handles)
    : name_(std::move(name)), transport_(set.transport()), handles_(handles) {
  process_set = &set;
}

void Operation::Submit(Submission submission, Handle handle) {
  WEIR_CHECK(!busy());
  submission_ = std::move(submission);
  handle_ = handle;
  allocation_error_ = nullptr;
  busy_.store(true, std::memory_order_release);
}

void Operation::Agree(std::uint32_t agreed_slot, std::vector<std::int64_t> rows) {
  agreed_request_ = submission_.request;
  rows_ = std::move(rows);
  // Those of a group are its buckets'. Its registration has none: on the fast path a rank that
  // registers something else under the name would wait for ever.
  if (submission_.request.kind != RequestKind::kGroup) slot = agreed_slot;
  if (submission_.on_agreed) submission_.on_agreed({.slot = agreed_slot, .rows = rows_});
}

std::span<const BucketStage> Operation::stages() const {
  static constexpr BucketStage kStages[] = {BucketStage::kExchange};
  return kStages;
}

void Operation::Run(BucketStage) { WEIR_CHECK(false); }

Collective* Operation::BindExchange() {
  switch (submission_.request.kind) {
    case RequestKind::kAllreduce:
      return BindAllreduce();
    case RequestKind::kAllgather:
      BindAllgather();
      return allgather_.get();
    case RequestKind::kBroadcast:
      BindBroadcast();
      return broadcast_.get();
    case RequestKind::kAlltoall:
      BindAlltoall();
      return alltoall_.get();
    case RequestKind::kReducescatter:
      BindReducescatter();
      return reduce_scatter_.get();
    case RequestKind::kBarrier:
    case RequestKind::kJoin:
    case RequestKind::kGroup:
      return nullptr;  // Agreement was the operation.
  }
  WEIR_CHECK(false);
  return nullptr;
}

Collective* Operation::BindAllreduce() {
  const Request& request = submission_.request;
  const Reduction reduction{request.op, request.prescale, request.postscale};
  if (request.op == ReduceOp::kAdasum) {
    const Array single{submission_.in, submission_.out, request.shape.elements(), request.dtype};
    if (!adasum_) adasum_ = std::make_unique<Adasum>(transport_);
    adasum_->Bind(request.members.empty() ? std::span(&single, 1)
                                          : std::span<const Array>(submission_.arrays),
                  reduction);
    return adasum_.get();
  }
  if (!request.members.empty()) {
    if (!grouped_allreduce_)
      grouped_allreduce_ =
          std::make_unique<GroupedAllreduce>(transport_, process_set->allreduce_grid());
    grouped_allreduce_->Bind(submission_.arrays, reduction);
    return grouped_allreduce_.get();
  }
  if (!allreduce_)
    allreduce_ = std::make_unique<Allreduce>(transport_, process_set->allreduce_grid());
  allreduce_->Bind(submission_.in, submission_.out, request.shape.elements(), request.dtype,
                   reduction);
  return allreduce_.get();
}

void Operation::BindBroadcast() {
  const Request& request = submission_.request;
  if (!broadcast_) broadcast_ = std::make_unique<Broadcast>(transport_);
  const std::size_t bytes =
      static_cast<std::size_t>(request.shape.elements()) * SizeOf(request.dtype);
  broadcast_->Bind({static_cast<std::byte*>(submission_.out), bytes},
                   process_set->IndexOf(request.root));
}

void Operation::BindAllgather() {
  CheckAnswer(static_cast<std::size_t>(transport_.size()));
  const std::int64_t all = std::accumulate(rows_.begin(), rows_.end(), std::int64_t{0});
  if (!allgather_)
    allgather_ = std::make_unique<Allgather>(transport_, process_set->allgather_grid());
  allgather_->Bind(Input(submission_.request.shape[0]), Allocate(all, rows_),
                   BytesOf(rows_, row_bytes()));
}

void Operation::BindAlltoall() {
  const auto ranks = static_cast<std::size_t>(transport_.size());
  const auto self = static_cast<std::size_t>(transport_.rank());
  CheckAnswer(ranks * ranks);
  const std::vector<std::int64_t>& sent = submission_.request.splits;
  std::vector<std::int64_t> received;
  for (std::size_t r = 0; r < ranks; ++r) received.push_back(rows_[r * ranks + self]);
  const std::int64_t out = std::accumulate(received.begin(), received.end(), std::int64_t{0});
  const std::int64_t in = std::accumulate(sent.begin(), sent.end(), std::int64_t{0});
  if (!alltoall_) alltoall_ = std::make_unique<Alltoall>(transport_);
  alltoall_->Bind(Input(in), BytesOf(sent, row_bytes()), Allocate(out, received),
                  BytesOf(received, row_bytes()));
}

void Operation::BindReducescatter() {
  const Request& request = submission_.request;
  const std::size_t row = row_bytes() / SizeOf(request.dtype);
  std::vector<std::int64_t> rows;
  std::vector<std::size_t> offsets = {0};
  for (int r = 0; r < transport_.size(); ++r) {
    rows.push_back(RowsOfRank(request.shape[0], r, transport_.size()));
    offsets.push_back(offsets.back() + static_cast<std::size_t>(rows.back()) * row);
  }
  const std::int64_t own = rows[static_cast<std::size_t>(transport_.rank())];
  if (!reduce_scatter_) reduce_scatter_ = std::make_unique<ReduceScatter>(transport_);
  reduce_scatter_->Bind({.in = static_cast<const std::byte*>(submission_.in),
                         .out = Allocate(own, rows).data(),
                         .elements = offsets.back(),
                         .dtype = request.dtype,
                         .reduction = {request.op, request.prescale, request.postscale}},
                        offsets);
}

void Operation::CheckAnswer(std::size_t rows) const {
  if (rows_.size() == rows) return;
  throw Corrupt("an answer for '" + name_ + "' has " + std::to_string(rows_.size()) +
                    " numbers of rows where " + std::to_string(rows) + " belong",
                {name_, {}, "negotiate"});
}

std::size_t Operation::row_bytes() const {
  const Request& request = submission_.request;
  const Shape row(request.shape.dims().subspan(1));
  return static_cast<std::size_t>(row.elements()) * SizeOf(request.dtype);
}

std::span<const std::byte> Operation::Input(std::int64_t rows) const {
  return {static_cast<const std::byte*>(submission_.in),
          static_cast<std::size_t>(rows) * row_bytes()};
}

std::span<std::byte> Operation::Allocate(std::int64_t first_dim,
                                         std::span<const std::int64_t> rows) {
  const std::size_t bytes = static_cast<std::size_t>(first_dim) * row_bytes();
  // The other ranks send whatever happens here: a failed allocation must not break their operation.
  try {
    const auto given = submission_.request.shape.dims();
    std::vector<std::int64_t> dims(given.begin(), given.end());
    dims[0] = first_dim;
    void* out = submission_.allocate(Shape(std::span<const std::int64_t>(dims)), rows);
    if (out != nullptr || bytes == 0) return {static_cast<std::byte*>(out), bytes};
    const std::string op = Routes()[route_index()].op;
    throw InvalidArgument("no memory was given for the result of " + op + " '" + name_ + "', " +
                              std::to_string(bytes) + " bytes",
                          {name_, {transport_.JobRank(transport_.rank())}, "exchange"});
  } catch (...) {
    allocation_error_ = std::current_exception();
    discarded_.resize(bytes);
    return discarded_;
  }
}

void Operation::Done() { Finish(std::exchange(allocation_error_, nullptr)); }
void Operation::Failed(const std::exception_ptr& error) { Finish(error); }

void Operation::Finish(const std::exception_ptr& error) {
  // Once it is not busy the network thread may forget it: nothing of it is looked at after that.
  HandleTable& handles = handles_;
  const Handle handle = handle_;
  submission_.owner.reset();
  submission_.allocate = nullptr;
  submission_.on_agreed = nullptr;
  discarded_ = {};
  busy_.store(false, std::memory_order_release);
  handles.Complete(handle, error);
}

Bucket::Traffic Operation::traffic() const {
  const Request& request = submission_.request;
  std::uint64_t bytes = 0;
  if (request.members.empty()) {
    bytes = static_cast<std::uint64_t>(request.shape.elements()) * SizeOf(request.dtype);
  }
  if (request.kind == RequestKind::kAlltoall) {
    bytes = Input(std::accumulate(request.splits.begin(), request.splits.end(), std::int64_t{0}))
                .size();
  }
  for (const Array& array : submission_.arrays) bytes += array.bytes();
  return {.dense_bytes = bytes, .wire_bytes = bytes};
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
