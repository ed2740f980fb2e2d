#include "coordinator/engine_impl.h"

#include "common/log.h"
#include "coordinator/gradient_group.h"
#include "ops/reduce.h"

namespace weir {
namespace {

void CheckTensor(const std::string& name, const char* what, const ConstTensorView& tensor) {
  if (name.empty()) throw InvalidArgument("an operation needs a name", {"", {}, "submit"});
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

}  // namespace

EngineImpl::EngineImpl(const Settings& settings, EngineEnvironment environment)
    : local_rank_(environment.local_rank),
      local_size_(environment.local_size),
      parts_(std::make_unique<Parts>()) {
  settings.Check();
  parts_->membership = std::move(environment.membership);
  parts_->coordinator = std::make_unique<Coordinator>(
      settings, Coordinator::Environment{.connect = std::move(environment.connect),
                                         .disconnect = std::move(environment.disconnect),
                                         .membership = parts_->membership.get(),
                                         .recorder = &parts_->recorder,
                                         .names = &parts_->names,
                                         .local_size = local_size_});
  rank_ = parts_->coordinator->rank();
  size_ = parts_->coordinator->size();
  Log::Configure(settings, rank_, environment.host);
  if (settings.metrics_port == 0 && settings.timeline_filename.empty()) return;
  try {
    parts_->monitor =
        std::make_unique<Monitor>(settings, RunInfo{rank_, size_, local_rank_, environment.host},
                                  parts_->recorder, parts_->names, parts_->coordinator->gauges());
  } catch (...) {
    parts_->coordinator->Fail(std::current_exception());  // The other ranks learn why.
    throw;
  }
  parts_->coordinator->MarkCycles(parts_->monitor->marks_cycles());
}

EngineImpl::~EngineImpl() {
  // The threads exist in the parent only; joining them here would wait for ever.
  if (parts_->coordinator->forked()) static_cast<void>(parts_.release());
}

Coordinator& EngineImpl::coordinator() const {
  parts_->coordinator->ThrowIfForked();
  return *parts_->coordinator;
}

Handle EngineImpl::Allreduce(const std::string& name, ConstTensorView in, TensorView out,
                             AllreduceOptions options) {
  CheckTensor(name, "input", in);
  CheckTensor(name, "output", out);
  if (in.dtype != out.dtype || in.shape != out.shape) {
    throw InvalidArgument("allreduce of '" + name + "': the input is " +
                              std::string(Name(in.dtype)) + " " + in.shape.ToString() +
                              " but the output is " + std::string(Name(out.dtype)) + " " +
                              out.shape.ToString(),
                          {name, {rank_}, "submit"});
  }
  CheckReduction(in.dtype, {options.op, options.prescale, options.postscale});
  Operation::Submission submission;
  submission.request = {.kind = RequestKind::kAllreduce,
                        .name = name,
                        .dtype = in.dtype,
                        .shape = in.shape,
                        .op = options.op,
                        .prescale = options.prescale,
                        .postscale = options.postscale,
                        .priority = options.priority};
  submission.in = in.data;
  submission.out = out.data;
  submission.owner = std::move(options.owner);
  return coordinator().Submit(name, std::move(submission));
}

Handle EngineImpl::Allgather(const std::string& name, ConstTensorView in, AllocateOutput allocate,
                             std::shared_ptr<const void> owner) {
  CheckTensor(name, "input", in);
  if (!allocate) {
    throw InvalidArgument(
        "allgather of '" + name + "' needs a function that gives the result memory",
        {name, {rank_}, "submit"});
  }
  Operation::Submission submission;
  submission.request = {
      .kind = RequestKind::kAllgather, .name = name, .dtype = in.dtype, .shape = in.shape};
  submission.in = in.data;
  submission.allocate = std::move(allocate);
  submission.owner = std::move(owner);
  return coordinator().Submit(name, std::move(submission));
}

Handle EngineImpl::Broadcast(const std::string& name, TensorView tensor, int root,
                             std::shared_ptr<const void> owner) {
  CheckTensor(name, "tensor", tensor);
  if (root < 0 || root >= size_) {
    throw InvalidArgument("broadcast of '" + name + "' from rank " + std::to_string(root) +
                              " in a job of " + std::to_string(size_) + " ranks",
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
  return coordinator().Submit(name, std::move(submission));
}

Handle EngineImpl::Barrier(const std::string& name) {
  Operation::Submission submission;
  submission.request = {.kind = RequestKind::kBarrier, .name = name};
  return coordinator().Submit(name, std::move(submission));
}

std::unique_ptr<GradientGroup> EngineImpl::Register(GradientGroupSpec spec) {
  return std::make_unique<GradientGroupImpl>(coordinator(), std::move(spec));
}

bool EngineImpl::Poll(Handle handle) { return coordinator().handles().Poll(handle); }
void EngineImpl::Wait(Handle handle) { coordinator().Wait(handle); }

void EngineImpl::Abort(const std::string& reason) {
  coordinator().Fail(
      std::make_exception_ptr(ShutDown("Abort was called: " + reason, {"", {rank_}, "abort"})));
}

void EngineImpl::Shutdown() { coordinator().Shutdown(); }

}  // namespace weir
