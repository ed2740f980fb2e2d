#include "coordinator/engine_impl.h"
#include "coordinator/operation_checks.h"

// The operations whose results have the inputs' shapes.

namespace weir {

Handle EngineImpl::Allreduce(const std::string& name, ConstTensorView in, TensorView out,
                             ReduceOptions options) {
  ProcessSet& set = coordinator().process_sets().FindOwn(options.process_set);
  CheckPair(name, rank_, in, out);
  Submission submission;
  submission.request = ReductionRequest(RequestKind::kAllreduce, name, in, options);
  submission.tensors = {{in.data, out.data, in.shape.elements(), in.dtype}};
  submission.owner = std::move(options.owner);
  return coordinator().Submit(set, std::move(submission));
}

Handle EngineImpl::GroupedAllreduce(const std::string& name, std::span<const ReduceTensor> tensors,
                                    ReduceOptions options) {
  ProcessSet& set = coordinator().process_sets().FindOwn(options.process_set);
  CheckGroup(RequestKind::kAllreduce, name, rank_, tensors.size());
  Submission submission;
  submission.request = ReductionRequest(RequestKind::kAllreduce, name, tensors.front().in, options);
  submission.request.shape = {};  // The members have theirs.
  for (const auto& [in, out] : tensors) {
    submission.request.members.push_back({.dtype = in.dtype, .shape = in.shape});
    CheckPair(submission.request.tensor_name(submission.tensors.size()), rank_, in, out);
    CheckCombination(RequestKind::kAllreduce, in.dtype, options);
    submission.tensors.push_back({in.data, out.data, in.shape.elements(), in.dtype});
  }
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
  Submission submission;
  submission.request = {.kind = RequestKind::kBroadcast,
                        .name = name,
                        .dtype = tensor.dtype,
                        .shape = tensor.shape,
                        .root = root};
  submission.tensors = {{tensor.data, tensor.data, tensor.shape.elements(), tensor.dtype}};
  submission.owner = std::move(owner);
  return coordinator().Submit(set, std::move(submission));
}

Handle EngineImpl::Barrier(const std::string& name, int process_set) {
  ProcessSet& set = coordinator().process_sets().FindOwn(process_set);
  CheckName(name);
  Submission submission;
  submission.request = {.kind = RequestKind::kBarrier, .name = name};
  return coordinator().Submit(set, std::move(submission));
}

}  // namespace weir
