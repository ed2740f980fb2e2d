#include "coordinator/operation.h"

#include <algorithm>
#include <cctype>
#include <numeric>

#include "common/check.h"
#include "weir/error.h"

namespace weir {

Operation::Operation(std::string name, Transport& transport, HandleTable& handles)
    : name_(std::move(name)), transport_(transport), handles_(handles) {}

void Operation::Submit(Submission submission, Handle handle) {
  WEIR_CHECK(!busy());
  submission_ = std::move(submission);
  handle_ = handle;
  allocation_error_ = nullptr;
  busy_.store(true, std::memory_order_release);
}

void Operation::Agree(std::vector<std::int64_t> first_dims) {
  agreed_request_ = submission_.request;
  if (!first_dims.empty()) first_dims_ = std::move(first_dims);
}

std::span<const BucketStage> Operation::stages() const {
  static constexpr BucketStage kStages[] = {BucketStage::kExchange};
  return kStages;
}

void Operation::Run(BucketStage) { WEIR_CHECK(false); }

Collective* Operation::BindExchange() {
  const Request& request = submission_.request;
  switch (request.kind) {
    case RequestKind::kAllreduce:
      if (!allreduce_) allreduce_ = std::make_unique<Allreduce>(transport_);
      allreduce_->Bind(submission_.in, submission_.out, request.shape.elements(), request.dtype,
                       {request.op, request.prescale, request.postscale});
      return allreduce_.get();
    case RequestKind::kAllgather:
      BindAllgather();
      return allgather_.get();
    case RequestKind::kBroadcast: {
      if (!broadcast_) broadcast_ = std::make_unique<Broadcast>(transport_);
      const std::size_t bytes =
          static_cast<std::size_t>(request.shape.elements()) * SizeOf(request.dtype);
      broadcast_->Bind({static_cast<std::byte*>(submission_.out), bytes}, request.root);
      return broadcast_.get();
    }
    case RequestKind::kBarrier:
    case RequestKind::kGroup:
      return nullptr;  // Agreement was the operation.
  }
  WEIR_CHECK(false);
  return nullptr;
}

void Operation::BindAllgather() {
  const Request& request = submission_.request;
  Shape rest(request.shape.dims().subspan(1));
  const std::size_t row = static_cast<std::size_t>(rest.elements()) * SizeOf(request.dtype);
  std::vector<std::size_t> bytes;
  for (const std::int64_t rows : first_dims_) bytes.push_back(static_cast<std::size_t>(rows) * row);
  const auto self = static_cast<std::size_t>(transport_.rank());
  if (bytes.size() != static_cast<std::size_t>(transport_.size())) {
    throw Corrupt("an answer for '" + name_ + "' has the first dimensions of " +
                      std::to_string(bytes.size()) + " ranks",
                  {name_, {}, "negotiate"});
  }

  std::vector<std::int64_t> dims(request.shape.dims().begin(), request.shape.dims().end());
  dims[0] = std::accumulate(first_dims_.begin(), first_dims_.end(), std::int64_t{0});
  const std::size_t total = std::accumulate(bytes.begin(), bytes.end(), std::size_t{0});
  // The other ranks send whatever happens here: a failed allocation must not break their operation.
  void* out = nullptr;
  try {
    out = submission_.allocate(Shape(std::span<const std::int64_t>(dims)));
    if (out == nullptr && total > 0) {
      throw InvalidArgument("no memory was given for the result of allgather '" + name_ + "', " +
                                std::to_string(total) + " bytes",
                            {name_, {transport_.rank()}, "exchange"});
    }
  } catch (...) {
    allocation_error_ = std::current_exception();
    discarded_.resize(total);
    out = discarded_.data();
  }
  if (!allgather_) allgather_ = std::make_unique<Allgather>(transport_);
  allgather_->Bind({static_cast<const std::byte*>(submission_.in), bytes[self]},
                   {static_cast<std::byte*>(out), total}, bytes);
}

void Operation::Done() { Finish(allocation_error_); }
void Operation::Failed(const std::exception_ptr& error) { Finish(error); }

void Operation::Finish(const std::exception_ptr& error) {
  const Handle handle = handle_;
  submission_.owner.reset();
  submission_.allocate = nullptr;
  busy_.store(false, std::memory_order_release);
  handles_.Complete(handle, error);
}

Bucket::Traffic Operation::traffic() const {
  const Request& request = submission_.request;
  const auto bytes = static_cast<std::uint64_t>(request.shape.elements()) * SizeOf(request.dtype);
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
