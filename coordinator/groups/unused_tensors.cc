#include "coordinator/groups/unused_tensors.h"

#include <algorithm>
#include <utility>

#include "weir/error.h"

namespace weir {
namespace {

constexpr std::size_t kBits = 62;  // Numbers in a request are not negative.

}  // namespace

void UnusedTensors::Begin(std::int64_t step) {
  const std::lock_guard lock(mutex_);
  step_ = step;
  noted_ = asked_ = false;
  of_nobody_.clear();
}

void UnusedTensors::Forget() {
  const std::lock_guard lock(mutex_);
  step_ = called_ = -1;
  noted_ = false;
}

void UnusedTensors::Note(std::span<const std::size_t> lacking) {
  const std::lock_guard lock(mutex_);
  lacking_.assign((spec_.tensors.size() + kBits - 1) / kBits, 0);
  for (const std::size_t tensor : lacking) {
    lacking_[tensor / kBits] |= std::int64_t{1} << (tensor % kBits);
  }
  noted_ = true;
  if (!lacking.empty() || called_ == step_) Ask();
}

void UnusedTensors::OnCalled(std::int64_t step) {
  const std::lock_guard lock(mutex_);
  called_ = step;
  if (noted_ && step == step_) Ask();
}

void UnusedTensors::Ask() {
  if (std::exchange(asked_, true)) return;
  Submission submission;
  submission.request = {.kind = RequestKind::kUnused,
                        .name = StepRequestName(RequestKind::kUnused, spec_.name),
                        .splits = lacking_,
                        .settings = {{Request::kStep, std::to_string(step_)}},
                        .slots = 0};
  submission.on_agreed = [this](const Submission::Agreed& agreed) { TakeAnswer(agreed.rows); };
  answer_ = coordinator_.Submit(set_, std::move(submission));
}

void UnusedTensors::TakeAnswer(std::span<const std::int64_t> rows) {
  const std::lock_guard lock(mutex_);
  const std::size_t words = lacking_.size();
  if (rows.size() % words != 0) {
    throw Corrupt("the ranks told of other numbers of gradients that they lack",
                  {spec_.name, {}, "negotiate"});
  }
  std::vector<std::int64_t> of_all = lacking_;
  for (std::size_t i = 0; i < rows.size(); ++i) of_all[i % words] &= rows[i];
  for (std::size_t tensor = 0; tensor < spec_.tensors.size(); ++tensor) {
    if ((of_all[tensor / kBits] >> (tensor % kBits) & 1) != 0) of_nobody_.push_back(tensor);
  }
}

const std::vector<std::size_t>& UnusedTensors::Await() {
  const auto lacks = [](std::int64_t word) { return word != 0; };
  if (noted_ && std::ranges::any_of(lacking_, lacks)) Finish();
  return of_nobody_;
}

void UnusedTensors::Finish() {
  Handle answer = kNoHandle;
  {
    const std::lock_guard lock(mutex_);
    answer = std::exchange(answer_, kNoHandle);
  }
  if (answer != kNoHandle) coordinator_.Wait(answer);
}

}  // namespace weir
