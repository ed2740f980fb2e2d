#include "coordinator/operations/draft.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "ops/arrays/reduce.h"
#include "ops/collectives/adasum.h"
#include "weir/error.h"

// The sentences are Horovod's, where it has one.

namespace weir {
namespace {

std::string Text(const ConstTensorView& tensor) {
  return std::string(Name(tensor.dtype)) + " " + tensor.shape.ToString();
}

}  // namespace

Draft::Draft(RequestKind kind, const std::string& name, int rank, Form form)
    : rank_(rank), form_(form) {
  request().kind = kind;
  request().name = name;
  if (name.empty()) Refuse(name, "an operation needs a name");
  if (name.starts_with(kReserved)) {
    Refuse(name, "names that begin with '" + std::string(kReserved) + "' are the engine's own; '" +
                     name + "' needs another one");
  }
}

void Draft::Refuse(const std::string& tensor, const std::string& why) const {
  throw InvalidArgument(why, {tensor, {rank_}, "submit"});
}

void Draft::Combine(ReduceOptions options) {
  combines_ = true;
  request().op = options.op;
  request().prescale = options.prescale;
  request().postscale = options.postscale;
  request().priority = options.priority;
  HeldBy(std::move(options.owner));
}

std::string Draft::Describe(DType dtype, const Shape& shape, const std::string& label) {
  if (submission_.tensors.empty()) request().dtype = dtype;
  if (form_ == Form::kGroup) {
    request().members.push_back({.name = label, .dtype = dtype, .shape = shape});
  } else {
    request().shape = shape;
  }
  return request().tensor_name(submission_.tensors.size());
}

void Draft::CheckTensor(const std::string& name, const char* what,
                        const ConstTensorView& tensor) const {
  if (static_cast<int>(tensor.dtype) >= kDTypeCount) {
    Refuse(name, "the " + std::string(what) + " of '" + name + "' has the unknown type " +
                     std::to_string(static_cast<int>(tensor.dtype)));
  }
  if (tensor.data == nullptr && tensor.shape.elements() > 0) {
    Refuse(name, "the " + std::string(what) + " of '" + name + "' is null");
  }
}

void Draft::Place(const std::string& name, const ConstTensorView& tensor) {
  if (!tensor.device.is_gpu()) return;
  if (!device_.is_gpu()) {
    device_ = tensor.device;
    tensor_on_gpu_ = name;
  } else if (device_ != tensor.device) {
    Refuse(name, "'" + name + "' is on " + tensor.device.ToString() + " and '" + tensor_on_gpu_ +
                     "' on " + device_.ToString() + ": a rank uses one GPU, so start one for each");
  }
  submission_.on_gpu.push_back({submission_.tensors.size(), tensor.stream});
}

void Draft::CheckCombination(const std::string& name, DType dtype) const {
  if (!combines_) return;
  const Request& asked = submission_.request;
  const Reduction reduction{asked.op, asked.prescale, asked.postscale};
  const bool sparse = asked.kind == RequestKind::kSparseAllreduce;
  if (sparse && asked.op != ReduceOp::kSum && asked.op != ReduceOp::kAverage) {
    Refuse(name, "sparse tensors are combined by sum or average, not by " +
                     std::string(Name(asked.op)) + " (tensor '" + name + "')");
  }
  try {
    if (asked.op == ReduceOp::kAdasum && asked.kind == RequestKind::kAllreduce) {
      CheckAdasum(dtype, reduction);
    } else {
      CheckReduction(dtype, reduction);
    }
  } catch (const InvalidArgument& error) {
    Refuse(name, std::string(error.what()) + " (tensor '" + name + "')");
  }
}

void Draft::Add(const ConstTensorView& in, const TensorView& out) {
  const std::string name = Describe(in.dtype, in.shape, {});
  CheckTensor(name, "input", in);
  CheckTensor(name, "output", out);
  if (in.dtype != out.dtype || in.shape != out.shape) {
    Refuse(name, std::string(Name(request().kind)) + " of '" + name + "': the input is " +
                     Text(in) + " but the output is " + Text(out));
  }
  if (in.device != out.device) {
    Refuse(name, std::string(Name(request().kind)) + " of '" + name + "': the input is on " +
                     in.device.ToString() + " but the output is on " + out.device.ToString());
  }
  if (in.device.is_gpu() && in.stream != out.stream) {
    Refuse(name, std::string(Name(request().kind)) + " of '" + name +
                     "': the input and the output are of different streams: give both the one "
                     "that is to be waited for");
  }
  CheckCombination(name, in.dtype);
  Place(name, in);
  submission_.tensors.push_back({in.data, out.data, in.shape.elements(), in.dtype});
}

void Draft::AddRows(Engine::RowsTensor tensor, const std::string& label) {
  const ConstTensorView& in = tensor.in;
  const std::string name = Describe(in.dtype, in.shape, label);
  CheckTensor(name, "input", in);
  const std::string kind(weir::Name(request().kind));
  if (!tensor.allocate) {
    Refuse(name, kind + " of '" + name + "' needs a function that gives the memory of the result");
  }
  if (in.shape.rank() > 0) {
    static_cast<void>(Shape(in.shape.dims().subspan(1)));  // Throws where a row is too large.
  } else if (request().kind != RequestKind::kAllgather) {
    // An all-gather is refused by all ranks together, as Horovod does.
    Refuse(name, "Rank " + std::to_string(rank_) + " tried to " + kind +
                     " a rank-zero tensor. (tensor '" + name +
                     "': give it a first dimension, whose rows can be dealt out)");
  }
  // The values of a sparse tensor are combined, not its indices.
  if (label.empty() || submission_.tensors.size() == 1) CheckCombination(name, in.dtype);
  Place(name, in);
  submission_.tensors.push_back({in.data, nullptr, in.shape.elements(), in.dtype});
  submission_.allocate.push_back(std::move(tensor.allocate));
}

void Draft::Add(Engine::SparseTensor tensor) {
  const std::string name = request().name;
  const ConstTensorView indices = tensor.indices.in;
  const ConstTensorView values = tensor.values.in;
  AddRows(std::move(tensor.indices), name + ".indices");
  AddRows(std::move(tensor.values), name + ".values");
  request().shape = tensor.shape;
  request().dtype = values.dtype;
  const auto dims = tensor.shape.dims();
  const bool has_places = indices.dtype == DType::kInt64 && indices.shape.rank() == 2 &&
                          indices.shape[0] == values.shape[0] &&
                          static_cast<std::size_t>(indices.shape[1]) <= dims.size();
  if (has_places && std::ranges::equal(dims.subspan(static_cast<std::size_t>(indices.shape[1])),
                                       values.shape.dims().subspan(1))) {
    return;
  }
  Refuse(name, "the sparse tensor '" + name + "' of shape " + tensor.shape.ToString() +
                   " has indices " + Text(indices) + " and values " + Text(values) +
                   "; give indices of type int64 and shape [n, k], and values of shape [n, ...] "
                   "with the tensor's last dimensions, all but the first k");
}

void Draft::Split(std::span<const int> ranks, std::span<const std::int64_t> splits) {
  const std::string& name = request().name;
  const std::int64_t rows = request().shape[0];
  const auto size = static_cast<std::int64_t>(ranks.size());
  const auto refuse = [&](const std::string& stem, const std::string& values) {
    Refuse(name, stem + " (tensor '" + name + "': rank " + std::to_string(rank_) + " has " +
                     values + ")");
  };
  if (splits.empty()) {
    if (rows % size != 0) {
      refuse(
          "splits not provided, but first dimension of tensor is not an even multiple of the "
          "number of workers.",
          std::to_string(rows) + " rows for " + std::to_string(size) + " ranks");
    }
    request().splits.assign(ranks.size(), rows / size);
    return;
  }
  if (splits.size() != ranks.size()) {
    refuse("Number of entries in splits does not equal number of workers.",
           std::to_string(splits.size()) + " splits for " + std::to_string(size) + " ranks");
  }
  std::int64_t sum = 0;
  for (std::size_t r = 0; r < splits.size(); ++r) {
    if (splits[r] < 0) {
      refuse("An entry in splits is negative.",
             std::to_string(splits[r]) + " rows for rank " + std::to_string(ranks[r]));
    }
    sum += std::min(splits[r], std::numeric_limits<std::int64_t>::max() - sum);
  }
  if (sum > rows) {
    refuse("Sum of splits entries is greater than the first dimension of tensor.",
           "splits for " + std::to_string(sum) + " of " + std::to_string(rows) + " rows");
  }
  request().splits.assign(splits.begin(), splits.end());
}

Submission Draft::Take() {
  if (form_ == Form::kGroup && submission_.tensors.empty()) {
    Refuse(request().name, "the group '" + request().name + "' (" +
                               std::string(Name(request().kind)) +
                               ") has no tensors; give it at least one");
  }
  return std::move(submission_);
}

}  // namespace weir
