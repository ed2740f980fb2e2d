#include "coordinator/sets/joining.h"

#include <algorithm>
#include <utility>

#include "common/clock.h"
#include "coordinator/operations/operation.h"
#include "coordinator/sets/process_set.h"

namespace weir {

Joining::Joining(ProcessSet& set, LiveRuns& live, HandleTable& handles, BucketNames& names)
    : set_(set), live_(live), handles_(handles), names_(names) {}
Joining::~Joining() = default;

void Joining::Add(JoinableGroup* group) {
  std::lock_guard lock(mutex_);
  groups_.push_back(group);
}

void Joining::Remove(JoinableGroup* group) {
  std::lock_guard lifetimes(lifetimes_);
  std::lock_guard lock(mutex_);
  std::erase(groups_, group);
}

void Joining::BeforeJoin() {
  std::lock_guard lifetimes(lifetimes_);
  std::vector<JoinableGroup*> groups;
  {
    std::lock_guard lock(mutex_);
    groups = groups_;
  }
  // Without the lock, which the network thread takes for what they wait for.
  for (JoinableGroup* group : groups) group->BeforeJoin();
}

std::optional<std::string> Joining::stepping() const {
  std::lock_guard lock(mutex_);
  const auto found = std::ranges::find_if(groups_, &JoinableGroup::stepping);
  if (found == groups_.end()) return std::nullopt;
  return (*found)->name();
}

// Groups are begun and ended under the lock: who removes one finds it in an empty step, or knows
// that none will be begun.
void Joining::Begin() {
  joined_ = true;
  std::lock_guard lock(mutex_);
  for (JoinableGroup* group : groups_) Start(group);
}

void Joining::Start(JoinableGroup* group) {
  Step step{.group = group, .buckets = group->BeginEmptyStep()};
  step.left = step.buckets.size();
  const std::vector<Bucket*> buckets = step.buckets;
  steps_.push_back(std::move(step));
  for (Bucket* bucket : buckets) {
    bucket->cursor = 0;
    set_.OnReady(bucket, NowNs());
    live_.Of(*bucket).patient = true;
    set_.OnStaged(bucket);
  }
}

Operation* Joining::TakePart(const Request& request) {
  auto tensors = std::make_shared<std::vector<std::vector<std::byte>>>();
  Submission submission;
  const auto add_zeros = [&](DType dtype, const Shape& shape) {
    Array zeros{.elements = shape.elements(), .dtype = dtype};
    zeros.in = zeros.out = tensors->emplace_back(zeros.bytes()).data();
    submission.tensors.push_back(zeros);
  };
  submission.request = request;
  if (request.members.empty() && request.kind != RequestKind::kUnused) {
    add_zeros(request.dtype, request.shape);
  }
  for (const Request::Member& member : request.members) add_zeros(member.dtype, member.shape);
  submission.owner = std::move(tensors);
  auto operation = std::make_unique<Operation>(request.name, set_, set_.network(), handles_);
  operation->record_index =
      names_.AddShared({.name = request.name + set_.Suffix(), .routes = Operation::Routes()});
  operation->Submit(std::move(submission));
  operation->Agree(kNoSlot, {});
  Operation* run = operation.get();
  operations_[run] = std::move(operation);
  return run;
}

bool Joining::OnDone(Bucket* bucket) {
  if (operations_.erase(bucket) > 0) return true;
  const auto step = std::ranges::find_if(steps_, [bucket](const Step& entry) {
    return std::ranges::find(entry.buckets, bucket) != entry.buckets.end();
  });
  if (step == steps_.end() || --step->left > 0) return false;
  JoinableGroup* group = step->group;
  steps_.erase(step);
  std::lock_guard lock(mutex_);
  group->EndEmptyStep(/*taken=*/true);
  if (joined_) {
    if (std::ranges::find(groups_, group) != groups_.end()) Start(group);
  } else if (steps_.empty() && join_ != nullptr) {
    live_.Of(*std::exchange(join_, nullptr)).staged = true;
  }
  return false;
}

bool Joining::Taken(const Step& step) const {
  if (step.left < step.buckets.size()) return true;
  return std::ranges::any_of(step.buckets, [this](const Bucket* bucket) {
    return live_.Of(*bucket).agreed || bucket->cursor > 0;
  });
}

void Joining::OnCalled(const std::string& request_name, int rank, std::int64_t step) {
  std::lock_guard lock(mutex_);
  for (JoinableGroup* group : groups_) {
    for (const RequestKind kind : {RequestKind::kDropStep, RequestKind::kUnused}) {
      if (StepRequestName(kind, group->name()) == request_name) group->OnCalled(kind, rank, step);
    }
  }
}

void Joining::OnTold(const std::string& request_name, const ToldPlan& told) {
  std::lock_guard lock(mutex_);
  for (JoinableGroup* group : groups_) {
    if (StepRequestName(RequestKind::kPlan, group->name()) == request_name) {
      group->OnTold(told);
    }
  }
}

void Joining::Close() {
  std::lock_guard lock(mutex_);
  for (JoinableGroup* group : groups_) group->OnClose();
}

bool Joining::End(Bucket* join) {
  joined_ = false;
  std::erase_if(steps_, [this](const Step& step) {
    if (Taken(step)) return false;
    for (Bucket* bucket : step.buckets) set_.Withdraw(bucket);
    step.group->EndEmptyStep(/*taken=*/false);
    return true;
  });
  if (steps_.empty()) return true;
  join_ = join;
  return false;
}

}  // namespace weir
