#include "coordinator/engine_impl.h"
#include "coordinator/operation_checks.h"

// The operations that deal out rows, into memory that is asked for once the ranks agree.

namespace weir {
namespace {

/// Adds the tensor that the request describes next.
void AddRows(Submission& submission, int rank, Engine::RowsTensor tensor) {
  const Request& request = submission.request;
  const std::string name = request.tensor_name(submission.tensors.size());
  const ConstTensorView& in = tensor.in;
  CheckTensor(name, "input", in);
  CheckAllocate(request.kind, name, rank, tensor.allocate);
  // Without rows, an all-gather is refused by all ranks together, as Horovod does.
  if (request.kind != RequestKind::kAllgather) CheckRows(request.kind, name, rank, in.shape);
  submission.tensors.push_back({in.data, nullptr, in.shape.elements(), in.dtype});
  submission.allocate.push_back(std::move(tensor.allocate));
}

/// Adds a tensor of a group.
void AddMember(Submission& submission, int rank, const Engine::RowsTensor& tensor,
               std::string name = {}) {
  submission.request.members.push_back(
      {.name = std::move(name), .dtype = tensor.in.dtype, .shape = tensor.in.shape});
  AddRows(submission, rank, tensor);
}

}  // namespace

Handle EngineImpl::Allgather(const std::string& name, ConstTensorView in, AllocateOutput allocate,
                             std::shared_ptr<const void> owner, int process_set) {
  ProcessSet& set = coordinator().process_sets().FindOwn(process_set);
  Submission submission;
  submission.request = {
      .kind = RequestKind::kAllgather, .name = name, .dtype = in.dtype, .shape = in.shape};
  AddRows(submission, rank_, {in, std::move(allocate)});
  submission.owner = std::move(owner);
  return coordinator().Submit(set, std::move(submission));
}

Handle EngineImpl::GroupedAllgather(const std::string& name, std::span<const RowsTensor> tensors,
                                    std::shared_ptr<const void> owner, int process_set) {
  ProcessSet& set = coordinator().process_sets().FindOwn(process_set);
  CheckGroup(RequestKind::kAllgather, name, rank_, tensors.size());
  Submission submission;
  submission.request = {.kind = RequestKind::kAllgather, .name = name};
  for (const RowsTensor& tensor : tensors) AddMember(submission, rank_, tensor);
  submission.owner = std::move(owner);
  return coordinator().Submit(set, std::move(submission));
}

Handle EngineImpl::Alltoall(const std::string& name, ConstTensorView in,
                            std::span<const std::int64_t> splits, AllocateOutput allocate,
                            std::shared_ptr<const void> owner, int process_set) {
  ProcessSet& set = coordinator().process_sets().FindOwn(process_set);
  Submission submission;
  submission.request = {
      .kind = RequestKind::kAlltoall, .name = name, .dtype = in.dtype, .shape = in.shape};
  AddRows(submission, rank_, {in, std::move(allocate)});
  submission.request.splits = CheckedSplits(name, rank_, set.ranks(), in.shape[0], splits);
  submission.owner = std::move(owner);
  return coordinator().Submit(set, std::move(submission));
}

Handle EngineImpl::Reducescatter(const std::string& name, ConstTensorView in,
                                 AllocateOutput allocate, ReduceOptions options) {
  ProcessSet& set = coordinator().process_sets().FindOwn(options.process_set);
  Submission submission;
  submission.request = ReductionRequest(RequestKind::kReducescatter, name, in, options);
  AddRows(submission, rank_, {in, std::move(allocate)});
  submission.owner = std::move(options.owner);
  return coordinator().Submit(set, std::move(submission));
}

Handle EngineImpl::GroupedReducescatter(const std::string& name,
                                        std::span<const RowsTensor> tensors,
                                        ReduceOptions options) {
  ProcessSet& set = coordinator().process_sets().FindOwn(options.process_set);
  CheckGroup(RequestKind::kReducescatter, name, rank_, tensors.size());
  Submission submission;
  submission.request =
      ReductionRequest(RequestKind::kReducescatter, name, tensors.front().in, options);
  submission.request.shape = {};  // The members have theirs.
  for (const RowsTensor& tensor : tensors) {
    CheckCombination(RequestKind::kReducescatter, tensor.in.dtype, options);
    AddMember(submission, rank_, tensor);
  }
  submission.owner = std::move(options.owner);
  return coordinator().Submit(set, std::move(submission));
}

Handle EngineImpl::SparseAllreduce(const std::string& name, RowsTensor indices, RowsTensor values,
                                   ReduceOptions options) {
  ProcessSet& set = coordinator().process_sets().FindOwn(options.process_set);
  Submission submission;
  submission.request = ReductionRequest(RequestKind::kSparseAllreduce, name, values.in, options);
  submission.request.shape = {};
  AddMember(submission, rank_, indices, name + ".indices");
  AddMember(submission, rank_, values, name + ".values");
  CheckEntries(name, rank_, indices.in, values.in);
  submission.owner = std::move(options.owner);
  return coordinator().Submit(set, std::move(submission));
}

}  // namespace weir
