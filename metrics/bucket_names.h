#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

namespace weir {

/// One of the ways that a bucket's exchange may take; the values become labels, so there are few.
struct RouteInfo {
  std::string op = "allreduce";  ///< "allreduce", "allgather", "broadcast", ...
  std::string route = "dense";   ///< "dense", "gather", ...
};

/// What is known of a bucket beside its records; the values become labels, so each has few of them
/// (except `name`).
struct BucketInfo {
  std::string name{};                    ///< Of its tensor, or of the first and how many more.
  std::vector<RouteInfo> routes = {{}};  ///< StageRecord::route is an index into them.
  std::string compressor = "none";       ///< "none": the bucket has no Compress stage.
  std::string group = "default";  ///< Optimizer or parameter group whose schedule it follows.
  std::uint64_t elements = 0;     ///< Of a single gradient; 0: this is a bucket or an operation.
};

/// Tells the readers of records what a bucket's number means. A number keeps its meaning: records
/// are read long after they were made. Thread-safe; takes a lock, so it is for planning, not for
/// the way of a gradient.
class BucketNames {
 public:
  /// Returns the number of the bucket: 0, 1, 2, ...
  std::uint32_t Add(BucketInfo info);
  /// The same for a bucket that comes and goes: equal names have one number. Beyond kMostShared
  /// names all that come have the same, kOthers: a program may make up names for ever.
  std::uint32_t AddShared(BucketInfo info);
  static constexpr std::size_t kMostShared = 16384;
  static constexpr const char* kOthers = "other operations";
  /// Of a number that Add returned. Valid as long as this object.
  const BucketInfo& Find(std::uint32_t bucket) const;

 private:
  mutable std::mutex mutex_;
  std::deque<BucketInfo> infos_;  // Entries stay where they are.
  std::unordered_map<std::string, std::uint32_t> shared_;
};

}  // namespace weir
