#include <algorithm>
#include <limits>

#include "coordinator/engine_impl.h"
#include "ops/adasum.h"
#include "ops/reduce.h"

// The operations that a program submits by name: what one rank can see is wrong is refused here.

namespace weir {
namespace {

void CheckName(const std::string& name) {
  if (name.empty()) throw InvalidArgument("an operation needs a name", {"", {}, "submit"});
  if (!name.starts_with(kReserved)) return;
  throw InvalidArgument("names that begin with '" + std::string(kReserved) +
                            "' are the engine's own; '" + name + "' needs another one",
                        {name, {}, "submit"});
}

void CheckTensor(const std::string& name, const char* what, const ConstTensorView& tensor) {
  CheckName(name);
  if (static_cast<int>(tensor.dtype) >= kDTypeCount) {
    throw InvalidArgument("the " + std::string(what) + " of '" + name + "' has the unknown type " +
                              std::to_string(static_cast<int>(tensor.dtype)),
                          {name, {}, "submit"});
  }
  if (tensor.data == nullptr && tensor.shape.elements() > 0) {
    throw InvalidArgument("the " + std::string(what) + " of '" + name + "' is null",
                          {name, {}, "submit"});
  }
}

void CheckAllocate(const char* operation, const std::string& name, int rank,
                   const AllocateOutput& allocate) {
  if (allocate) return;
  throw InvalidArgument(
      std::string(operation) + " of '" + name + "' needs a function that gives the result memory",
      {name, {rank}, "submit"});
}

void CheckRows(RequestKind kind, const std::string& name, int rank, const Shape& shape) {
  if (shape.rank() > 0) return;
  throw InvalidArgument("Rank " + std::to_string(rank) + " tried to " + std::string(Name(kind)) +
                            " a rank-zero tensor. (tensor '" + name +
                            "': give it a first dimension, whose rows can be dealt out)",
                        {name, {rank}, "submit"});
}

/// What goes to each rank, whether the program said it or not. Horovod's sentences.
std::vector<std::int64_t> SplitsOf(const std::string& name, int rank, std::span<const int> ranks,
                                   std::int64_t rows, std::span<const std::int64_t> given) {
  const auto size = static_cast<std::int64_t>(ranks.size());
  const auto refuse = [&](const std::string& stem, const std::string& values) {
    throw InvalidArgument(
        stem + " (tensor '" + name + "': rank " + std::to_string(rank) + " has " + values + ")",
        {name, {rank}, "submit"});
  };
  if (given.empty()) {
    if (rows % size != 0) {
      refuse(
          "splits not provided, but first dimension of tensor is not an even multiple of the "
          "number of workers.",
          std::to_string(rows) + " rows for " + std::to_string(size) + " ranks");
    }
    return std::vector<std::int64_t>(ranks.size(), rows / size);
  }
  if (given.size() != ranks.size()) {
    refuse("Number of entries in splits does not equal number of workers.",
           std::to_string(given.size()) + " splits for " + std::to_string(size) + " ranks");
  }
  std::int64_t sum = 0;
  for (std::size_t r = 0; r < given.size(); ++r) {
    if (given[r] < 0) {
      refuse("An entry in splits is negative.",
             std::to_string(given[r]) + " rows for rank " + std::to_string(ranks[r]));
    }
    sum += std::min(given[r], std::numeric_limits<std::int64_t>::max() - sum);
  }
  if (sum > rows) {
    refuse("Sum of splits entries is greater than the first dimension of tensor.",
           "splits for " + std::to_string(sum) + " of " + std::to_string(rows) + " rows");
  }
  return {given.begin(), given.end()};
}

void CheckPair(const std::string& name, int rank, const ConstTensorView& in,
               const TensorView& out) {
  CheckTensor(name, "input", in);
  CheckTensor(name, "output", out);
  if (in.dtype == out.dtype && in.shape == out.shape) return;
  throw InvalidArgument("allreduce of '" + name + "': the input is " + std::string(Name(in.dtype)) +
                            " " + in.shape.ToString() + " but the output is " +
                            std::string(Name(out.dtype)) + " " + out.shape.ToString(),
                        {name, {rank}, "submit"});
}

/// Throws InvalidArgument when the operation cannot combine values of that type so.
void CheckCombination(RequestKind kind, DType dtype, const ReduceOptions& options) {
  const Reduction reduction{options.op, options.prescale, options.postscale};
  if (options.op == ReduceOp::kAdasum && kind == RequestKind::kAllreduce) {
    CheckAdasum(dtype, reduction);
  } else {
    CheckReduction(dtype, reduction);
  }
}

Request RequestOf(RequestKind kind, const std::string& name, const ConstTensorView& in,
                  const ReduceOptions& options) {
  CheckCombination(kind, in.dtype, options);
  return {.kind = kind,
          .name = name,
          .dtype = in.dtype,
          .shape = in.shape,
          .op = options.op,
          .prescale = options.prescale,
          .postscale = options.postscale,
          .priority = options.priority};
}

}  // namespace

Handle EngineImpl::Allreduce(const std::string& name, ConstTensorView in, TensorView out,
                             ReduceOptions options) {
  ProcessSet& set = coordinator().process_sets().FindOwn(options.process_set);
  CheckPair(name, rank_, in, out);
  Operation::Submission submission;
  submission.request = RequestOf(RequestKind::kAllreduce, name, in, options);
  submission.in = in.data;
  submission.out = out.data;
  submission.owner = std::move(options.owner);
  return coordinator().Submit(set, std::move(submission));
}

Handle EngineImpl::GroupedAllreduce(const std::string& name, std::span<const ReduceTensor> tensors,
                                    ReduceOptions options) {
  ProcessSet& set = coordinator().process_sets().FindOwn(options.process_set);
  if (tensors.empty()) {
    throw InvalidArgument("the grouped allreduce '" + name + "' has no tensors",
                          {name, {rank_}, "submit"});
  }
  Operation::Submission submission;
  submission.request = RequestOf(RequestKind::kAllreduce, name, tensors.front().in, options);
  submission.request.shape = {};  // The members have theirs.
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const auto& [in, out] = tensors[i];
    const std::string member = name + "[" + std::to_string(i) + "]";
    CheckPair(member, rank_, in, out);
    CheckCombination(RequestKind::kAllreduce, in.dtype, options);
    submission.request.members.push_back({.dtype = in.dtype, .shape = in.shape});
    submission.arrays.push_back({in.data, out.data, in.shape.elements(), in.dtype});
  }
  submission.owner = std::move(options.owner);
  return coordinator().Submit(set, std::move(submission));
}

Handle EngineImpl::Allgather(const std::string& name, ConstTensorView in, AllocateOutput allocate,
                             std::shared_ptr<const void> owner, int process_set) {
  ProcessSet& set = coordinator().process_sets().FindOwn(process_set);
  CheckTensor(name, "input", in);
  CheckAllocate("allgather", name, rank_, allocate);
  Operation::Submission submission;
  submission.request = {
      .kind = RequestKind::kAllgather, .name = name, .dtype = in.dtype, .shape = in.shape};
  submission.in = in.data;
  submission.allocate = std::move(allocate);
  submission.owner = std::move(owner);
  return coordinator().Submit(set, std::move(submission));
}

Handle EngineImpl::Alltoall(const std::string& name, ConstTensorView in,
                            std::span<const std::int64_t> splits, AllocateOutput allocate,
                            std::shared_ptr<const void> owner, int process_set) {
  ProcessSet& set = coordinator().process_sets().FindOwn(process_set);
  CheckTensor(name, "input", in);
  CheckAllocate("alltoall", name, rank_, allocate);
  CheckRows(RequestKind::kAlltoall, name, rank_, in.shape);
  Operation::Submission submission;
  submission.request = {.kind = RequestKind::kAlltoall,
                        .name = name,
                        .dtype = in.dtype,
                        .shape = in.shape,
                        .splits = SplitsOf(name, rank_, set.ranks(), in.shape[0], splits)};
  submission.in = in.data;
  submission.allocate = std::move(allocate);
  submission.owner = std::move(owner);
  return coordinator().Submit(set, std::move(submission));
}

Handle EngineImpl::Reducescatter(const std::string& name, ConstTensorView in,
                                 AllocateOutput allocate, ReduceOptions options) {
  ProcessSet& set = coordinator().process_sets().FindOwn(options.process_set);
  CheckTensor(name, "input", in);
  CheckAllocate("reducescatter", name, rank_, allocate);
  CheckRows(RequestKind::kReducescatter, name, rank_, in.shape);
  Operation::Submission submission;
  submission.request = RequestOf(RequestKind::kReducescatter, name, in, options);
  submission.in = in.data;
  submission.allocate = std::move(allocate);
  submission.owner = std::move(options.owner);
  return coordinator().Submit(set, std::move(submission));
}

Handle EngineImpl::Broadcast(const std::string& name, TensorView tensor, int root,
                             std::shared_ptr<const void> owner, int process_set) {
  ProcessSet& set = coordinator().process_sets().FindOwn(process_set);
  CheckTensor(name, "tensor", tensor);
  if (!set.includes(root)) {
    throw InvalidArgument(
        "broadcast of '" + name + "' from rank " + std::to_string(root) + " in " +
            (process_set == ProcessSet::kGlobal
                 ? "a job of " + std::to_string(size_) + " ranks"
                 : "process set " + std::to_string(process_set) + ", which does not have it"),
        {name, {rank_}, "submit"});
  }
  Operation::Submission submission;
  submission.request = {.kind = RequestKind::kBroadcast,
                        .name = name,
                        .dtype = tensor.dtype,
                        .shape = tensor.shape,
                        .root = root};
  submission.out = tensor.data;
  submission.owner = std::move(owner);
  return coordinator().Submit(set, std::move(submission));
}

Handle EngineImpl::Barrier(const std::string& name, int process_set) {
  ProcessSet& set = coordinator().process_sets().FindOwn(process_set);
  CheckName(name);
  Operation::Submission submission;
  submission.request = {.kind = RequestKind::kBarrier, .name = name};
  return coordinator().Submit(set, std::move(submission));
}

int EngineImpl::AddProcessSet(std::span<const int> ranks) {
  std::vector<int> sorted(ranks.begin(), ranks.end());
  std::ranges::sort(sorted);
  const auto refuse = [&](const std::string& why) {
    throw InvalidArgument("a process set " + why, {"", {rank_}, "submit"});
  };
  if (sorted.empty()) refuse("needs at least one rank");
  if (const auto twice = std::ranges::adjacent_find(sorted); twice != sorted.end()) {
    refuse("has each rank once; rank " + std::to_string(*twice) + " is there twice");
  }
  for (const int rank : sorted) {
    if (rank >= 0 && rank < size_) continue;
    refuse("with rank " + std::to_string(rank) + " is impossible in a job of " +
           std::to_string(size_) + " ranks (0 to " + std::to_string(size_ - 1) + ")");
  }
  return coordinator().AddProcessSet(std::move(sorted));
}

}  // namespace weir
