#include "coordinator/groups/gradient_group.h"
#include "weir/error.h"

// What a group's step takes back: all of it, or the part of tensors that no rank has used. The
// exchange runs to the end, so that no rank waits in it for another; then the compressors go back
// to what they had marked.

namespace weir {

void GradientGroupImpl::DropStep() {
  const bool is_over = phase_ == Phase::kClosed && step().step == next_step_ - 1;
  if (phase_ != Phase::kOpen && !is_over) {
    throw InvalidArgument("DropStep of '" + spec_.name + "' without BeginStep, or before WaitStep");
  }
  if (!step().undoable) {
    throw InvalidArgument("DropStep of '" + spec_.name + "', whose step " +
                          std::to_string(step().step) + " began without StepInfo::undoable");
  }
  dropping_ = true;  // Before the phase: what ends now is not taken.
  if (!is_over) {
    EndStep();
    AwaitBuckets();
    unused_.Finish();
  }
  unused_.Forget();  // Before any rank can begin the step again.
  Submission submission;
  submission.request = {.kind = RequestKind::kDropStep,
                        .name = StepRequestName(RequestKind::kDropStep, spec_.name),
                        .settings = {{Request::kStep, std::to_string(step().step)}},
                        .slots = 0};
  coordinator_.Wait(coordinator_.Submit(set_, std::move(submission)));
  for (const auto& bucket : buckets_) bucket->GoBack();
  step_part_.reset();
  if (is_over) {
    --next_step_;
    previous_rates_ = rates_before_;
    for (GroupStep& of_variant : steps_) of_variant.undoable = false;  // Not twice.
  }
  dropped_step_ = -1;
  dropping_ = false;
  phase_ = Phase::kClosed;
}

void GradientGroupImpl::NoteUnused(std::span<const std::size_t> tensors) {
  if (phase_ != Phase::kOpen) {
    throw InvalidArgument("NoteUnused of '" + spec_.name + "' without BeginStep");
  }
  if (unused_.noted()) {
    throw InvalidArgument("NoteUnused of '" + spec_.name + "' was called in this step already");
  }
  for (const std::size_t index : tensors) {
    if (index < places_.size() && !places_[index].submitted) continue;
    throw InvalidArgument("NoteUnused of '" + spec_.name + "' got the tensor " +
                          std::to_string(index) + ", which does not exist or was submitted");
  }
  if (serving_.is_served()) return;  // Servers remember it, too, and count zeros.
  for (const std::size_t index : tensors) {
    for (std::size_t p = plan_.first_partition[index]; p < plan_.first_partition[index + 1]; ++p) {
      slices_[p].bucket->Mark(slices_[p].slice);
    }
  }
  unused_.Note(tensors);
}

void GradientGroupImpl::NoteUnsubmitted() {
  if (unused_.noted()) return;
  std::vector<std::size_t> unsubmitted;
  for (std::size_t i = 0; i < places_.size(); ++i) {
    if (!places_[i].submitted) unsubmitted.push_back(i);
  }
  NoteUnused(unsubmitted);
}

std::vector<std::size_t> GradientGroupImpl::UnusedByAll() {
  CheckEnded("UnusedByAll");
  return unused_.Await();
}

void GradientGroupImpl::LeaveUnusedAlone() {
  unused_.Finish();
  for (const std::size_t index : unused_.Await()) {
    for (std::size_t p = plan_.first_partition[index]; p < plan_.first_partition[index + 1]; ++p) {
      slices_[p].bucket->GoBack(slices_[p].slice);
    }
  }
}

void GradientGroupImpl::OnCalled(RequestKind kind, int rank, std::int64_t step) {
  if (kind == RequestKind::kDropStep) return OnDropping(rank, step);
  unused_.OnCalled(step);
}

void GradientGroupImpl::OnDropping(int rank, std::int64_t step) {
  dropping_rank_ = rank;
  dropped_step_ = step;
  // EndStep and BeginStep look the other way round, so that one of the two sees it. A step that is
  // over here may still be dropped, until the next one begins.
  const Phase phase = phase_;
  if (phase == Phase::kEmpty) return;  // Its program has joined, and takes no steps.
  const bool is_ahead = next_step_ > step + 1 || (next_step_ > step && phase != Phase::kClosed);
  if (is_ahead || (phase == Phase::kEnded && !dropping_)) FailAsDropped();
}

void GradientGroupImpl::FailAsDropped() {
  if (dropping_) return;
  const int rank = dropping_rank_;
  const std::string which = "step " + std::to_string(dropped_step_) + " of '" + spec_.name + "'";
  coordinator_.Fail(std::make_exception_ptr(
      Mismatch("Mismatched steps: One rank dropped a step, but another rank took it. (rank " +
                   std::to_string(rank) + " has dropped " + which + ", rank " +
                   std::to_string(coordinator_.rank()) +
                   " takes it: all ranks must drop the same backward passes)",
               {spec_.name, {rank, coordinator_.rank()}, "drop step"})));
}

}  // namespace weir
