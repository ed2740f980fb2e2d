#include "metrics/bucket_names.h"

#include <utility>

#include "common/check.h"

namespace weir {

std::uint32_t BucketNames::Add(BucketInfo info) {
  WEIR_CHECK(!info.routes.empty());
  const std::lock_guard lock(mutex_);
  infos_.push_back(std::move(info));
  return static_cast<std::uint32_t>(infos_.size() - 1);
}

const BucketInfo& BucketNames::Find(std::uint32_t bucket) const {
  const std::lock_guard lock(mutex_);
  WEIR_CHECK_MSG(bucket < infos_.size(), std::to_string(bucket));
  return infos_[bucket];
}

}  // namespace weir
