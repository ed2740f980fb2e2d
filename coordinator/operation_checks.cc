#include "coordinator/operation_checks.h"

#include <algorithm>
#include <limits>

#include "ops/adasum.h"
#include "ops/reduce.h"
#include "weir/error.h"

// Horovod's sentences, where it has one.

namespace weir {

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

void CheckAllocate(RequestKind kind, const std::string& name, int rank,
                   const AllocateOutput& allocate) {
  if (allocate) return;
  throw InvalidArgument(std::string(Name(kind)) + " of '" + name +
                            "' needs a function that gives the memory of the result",
                        {name, {rank}, "submit"});
}

void CheckRows(RequestKind kind, const std::string& name, int rank, const Shape& shape) {
  if (shape.rank() > 0) return;
  throw InvalidArgument("Rank " + std::to_string(rank) + " tried to " + std::string(Name(kind)) +
                            " a rank-zero tensor. (tensor '" + name +
                            "': give it a first dimension, whose rows can be dealt out)",
                        {name, {rank}, "submit"});
}

std::vector<std::int64_t> CheckedSplits(const std::string& name, int rank,
                                        std::span<const int> ranks, std::int64_t rows,
                                        std::span<const std::int64_t> given) {
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

void CheckGroup(RequestKind kind, const std::string& name, int rank, std::size_t tensors) {
  if (tensors > 0) return;
  throw InvalidArgument("the group '" + name + "' (" + std::string(Name(kind)) +
                            ") has no tensors; give it at least one",
                        {name, {rank}, "submit"});
}

void CheckEntries(const std::string& name, int rank, const ConstTensorView& indices,
                  const ConstTensorView& values) {
  if (indices.dtype == DType::kInt64 && indices.shape[0] == values.shape[0]) return;
  throw InvalidArgument("the sparse tensor '" + name + "' has indices of type " +
                            std::string(Name(indices.dtype)) + " for " +
                            std::to_string(indices.shape[0]) + " entries and values for " +
                            std::to_string(values.shape[0]) +
                            "; give one row of int64 indices for each row of values",
                        {name, {rank}, "submit"});
}

void CheckCombination(RequestKind kind, DType dtype, const ReduceOptions& options) {
  const Reduction reduction{options.op, options.prescale, options.postscale};
  if (kind == RequestKind::kSparseAllreduce && options.op != ReduceOp::kSum &&
      options.op != ReduceOp::kAverage) {
    throw InvalidArgument("sparse tensors are combined by sum or average, not by " +
                          std::string(Name(options.op)));
  }
  if (options.op == ReduceOp::kAdasum && kind == RequestKind::kAllreduce) {
    CheckAdasum(dtype, reduction);
  } else {
    CheckReduction(dtype, reduction);
  }
}

Request ReductionRequest(RequestKind kind, const std::string& name, const ConstTensorView& in,
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

}  // namespace weir
