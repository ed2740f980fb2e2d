#include "coordinator/engine/engine_impl.h"
#include "coordinator/operations/draft.h"

// Operations that a program submits by name.

namespace weir {

Handle EngineImpl::Submit(Draft& draft, int process_set) {
  ProcessSet& set = coordinator().process_sets().FindOwn(process_set);
  Submission submission = draft.Take();
  if (draft.device().is_gpu()) {
    const std::string& name = draft.tensor_on_gpu();
    submission.gpu = &coordinator().gpus().At(draft.device(), "tensor '" + name + "'",
                                              {name, {rank_}, "submit"});
    coordinator().gpu_offers().Offer(submission);
  }
  return coordinator().Submit(set, std::move(submission));
}

Handle EngineImpl::Allreduce(const std::string& name, ConstTensorView in, TensorView out,
                             ReduceOptions options) {
  const int set = options.process_set;
  Draft draft(RequestKind::kAllreduce, name, rank_);
  draft.Combine(std::move(options));
  draft.Add(in, out);
  return Submit(draft, set);
}

Handle EngineImpl::GroupedAllreduce(const std::string& name, std::span<const ReduceTensor> tensors,
                                    ReduceOptions options) {
  const int set = options.process_set;
  Draft draft(RequestKind::kAllreduce, name, rank_, Draft::Form::kGroup);
  draft.Combine(std::move(options));
  for (const auto& [in, out] : tensors) draft.Add(in, out);
  return Submit(draft, set);
}

Handle EngineImpl::Allgather(const std::string& name, ConstTensorView in, AllocateOutput allocate,
                             std::shared_ptr<const void> owner, int process_set) {
  Draft draft(RequestKind::kAllgather, name, rank_);
  draft.HeldBy(std::move(owner));
  draft.Add(RowsTensor{in, std::move(allocate)});
  return Submit(draft, process_set);
}

Handle EngineImpl::GroupedAllgather(const std::string& name, std::span<const RowsTensor> tensors,
                                    std::shared_ptr<const void> owner, int process_set) {
  Draft draft(RequestKind::kAllgather, name, rank_, Draft::Form::kGroup);
  draft.HeldBy(std::move(owner));
  for (const RowsTensor& tensor : tensors) draft.Add(tensor);
  return Submit(draft, process_set);
}

Handle EngineImpl::Alltoall(const std::string& name, ConstTensorView in,
                            std::span<const std::int64_t> splits, AllocateOutput allocate,
                            std::shared_ptr<const void> owner, int process_set) {
  Draft draft(RequestKind::kAlltoall, name, rank_);
  draft.HeldBy(std::move(owner));
  draft.Add(RowsTensor{in, std::move(allocate)});
  draft.Split(coordinator().process_sets().FindOwn(process_set).ranks(), splits);
  return Submit(draft, process_set);
}

Handle EngineImpl::Reducescatter(const std::string& name, ConstTensorView in,
                                 AllocateOutput allocate, ReduceOptions options) {
  const int set = options.process_set;
  Draft draft(RequestKind::kReducescatter, name, rank_);
  draft.Combine(std::move(options));
  draft.Add(RowsTensor{in, std::move(allocate)});
  return Submit(draft, set);
}

Handle EngineImpl::GroupedReducescatter(const std::string& name,
                                        std::span<const RowsTensor> tensors,
                                        ReduceOptions options) {
  const int set = options.process_set;
  Draft draft(RequestKind::kReducescatter, name, rank_, Draft::Form::kGroup);
  draft.Combine(std::move(options));
  for (const RowsTensor& tensor : tensors) draft.Add(tensor);
  return Submit(draft, set);
}

Handle EngineImpl::SparseAllreduce(const std::string& name, SparseTensor tensor,
                                   ReduceOptions options) {
  const int set = options.process_set;
  Draft draft(RequestKind::kSparseAllreduce, name, rank_, Draft::Form::kGroup);
  draft.Combine(std::move(options));
  draft.Add(std::move(tensor));
  return Submit(draft, set);
}

Handle EngineImpl::Broadcast(const std::string& name, TensorView tensor, int root,
                             std::shared_ptr<const void> owner, int process_set) {
  Draft draft(RequestKind::kBroadcast, name, rank_);
  draft.HeldBy(std::move(owner));
  draft.Add(tensor, tensor);
  draft.SetRoot(root);
  if (!coordinator().process_sets().FindOwn(process_set).includes(root)) {
    throw InvalidArgument(
        "BROADCAST of '" + name + "' from rank " + std::to_string(root) + " in " +
            (process_set == ProcessSet::kGlobal
                 ? "a job of " + std::to_string(size_) + " ranks"
                 : "process set " + std::to_string(process_set) + ", which does not have it"),
        {name, {rank_}, "submit"});
  }
  return Submit(draft, process_set);
}

Handle EngineImpl::Barrier(const std::string& name, int process_set) {
  Draft draft(RequestKind::kBarrier, name, rank_);
  return Submit(draft, process_set);
}

}  // namespace weir
