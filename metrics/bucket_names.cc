#include "metrics/bucket_names.h"

#include <utility>

namespace weir {

void BucketNames::Set(std::uint32_t bucket, BucketInfo info) {
  auto shared = std::make_shared<const BucketInfo>(std::move(info));
  const std::lock_guard lock(mutex_);
  if (infos_.size() <= bucket) infos_.resize(bucket + 1);
  infos_[bucket] = std::move(shared);
}

std::shared_ptr<const BucketInfo> BucketNames::Find(std::uint32_t bucket) {
  const std::lock_guard lock(mutex_);
  if (infos_.size() <= bucket) infos_.resize(bucket + 1);
  auto& info = infos_[bucket];
  if (info == nullptr) {
    info =
        std::make_shared<const BucketInfo>(BucketInfo{.name = "bucket " + std::to_string(bucket)});
  }
  return info;
}

}  // namespace weir
