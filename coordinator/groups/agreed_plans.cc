#include "coordinator/groups/agreed_plans.h"

#include <utility>

#include "weir/error.h"

namespace weir {

AgreedPlans::AgreedPlans(std::string group, const AllowedForms& allowed, std::size_t buckets)
    : group_(std::move(group)), allowed_(allowed), now_(buckets, BucketForm::kCompressed) {}

void AgreedPlans::OnTold(const ToldPlan& told) {
  const std::lock_guard lock(mutex_);
  try {
    next_.push_back({told.from_step, allowed_.Parse(told.forms), ++told_, told.measures});
  } catch (const InvalidArgument& error) {
    throw Corrupt(error.what(), {group_, {}, "negotiate"});
  }
}

void AgreedPlans::Begin(std::int64_t step, bool empty) {
  const std::lock_guard lock(mutex_);
  for (const Next& next : next_) {
    if (next.from_step > step) break;
    now_ = next.plan;
    epoch_ = next.epoch;
    // The others measure with zeros in the place of what this rank would send.
    measures_ = measures_ || (next.measures && !empty);
  }
  if (!empty) DropPast(step);
}

bool AgreedPlans::EndEmpty(std::int64_t step) {
  const std::lock_guard lock(mutex_);
  return DropPast(step);
}

bool AgreedPlans::DropPast(std::int64_t step) {
  bool measures = false;
  for (; !next_.empty() && next_.front().from_step <= step; next_.pop_front()) {
    measures = measures || next_.front().measures;
  }
  return measures;
}

void AgreedPlans::OnLoaded() {
  const std::lock_guard lock(mutex_);
  for (Next& next : next_) next.from_step = 0;
}

}  // namespace weir
