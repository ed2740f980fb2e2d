#include "metrics/records/bucket_names.h"

#include <utility>

#include "common/check.h"

namespace weir {

std::uint32_t BucketNames::Add(BucketInfo info) {
  WEIR_CHECK(!info.routes.empty());
  const std::lock_guard lock(mutex_);
  infos_.push_back(std::move(info));
  return static_cast<std::uint32_t>(infos_.size() - 1);
}

std::uint32_t BucketNames::AddShared(BucketInfo info) {
  WEIR_CHECK(!info.routes.empty());
  const std::lock_guard lock(mutex_);
  if (const auto known = shared_.find(info.name); known != shared_.end()) return known->second;
  if (shared_.size() >= kMostShared) {
    info.name = kOthers;
    if (const auto known = shared_.find(info.name); known != shared_.end()) return known->second;
  }
  const auto number = static_cast<std::uint32_t>(infos_.size());
  shared_[info.name] = number;
  infos_.push_back(std::move(info));
  return number;
}

const BucketInfo& BucketNames::Find(std::uint32_t bucket) const {
  const std::lock_guard lock(mutex_);
  WEIR_CHECK_MSG(bucket < infos_.size(), std::to_string(bucket));
  return infos_[bucket];
}

}  // namespace weir
