#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace weir {

/// What is known of a bucket beside its records; the values become labels, so each has few of them
/// (except `name`).
struct BucketInfo {
  std::string name{};               ///< Of its tensor, or of the first of them and how many more.
  std::string op = "allreduce";     ///< "allreduce", "allgather", "broadcast", ...
  std::string route = "dense";      ///< "dense", "sparse", ...
  std::string compressor = "none";  ///< "none": the bucket has no Compress stage.
  std::string group = "default";    ///< Optimizer or parameter group whose schedule it follows.
};

/// Tells the readers of records what a bucket's number means. Thread-safe; takes a lock, so it is
/// for planning, not for the way of a gradient.
class BucketNames {
 public:
  /// Names a bucket, or names it anew after a new plan.
  void Set(std::uint32_t bucket, BucketInfo info);
  /// Never null; a bucket without a name is "bucket N". The same pointer as long as nothing
  /// changed.
  std::shared_ptr<const BucketInfo> Find(std::uint32_t bucket);

 private:
  std::mutex mutex_;
  std::vector<std::shared_ptr<const BucketInfo>> infos_;
};

}  // namespace weir
