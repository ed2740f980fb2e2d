#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

namespace weir {

/// A route that a bucket's exchange may take. The values become labels, so there are few.
struct RouteInfo {
  std::string op = "allreduce";  ///< "allreduce", "allgather", "broadcast", ...
  std::string route = "dense";   ///< "dense", "gather", ...
};

/// A bucket's properties beside its records. The values become labels, so each
/// has few of them (except `name`).
struct BucketInfo {
  std::string name{};                    ///< Its tensor's, or the first one's and how many more.
  std::vector<RouteInfo> routes = {{}};  ///< StageRecord::route is an index into them.
  std::string compressor = "none";       ///< "none": the bucket has no Compress stage.
  std::string group = "default";  ///< Optimizer or parameter group whose schedule it follows.
  std::uint64_t elements = 0;     ///< A single gradient's; 0: this is a bucket or an operation.
  /// Of a single gradient. Those of a bucket have the numbers just before the bucket's.
  std::vector<std::int64_t> shape{};
};

/// Tells the readers of records the meaning of a bucket's number. A number keeps its meaning,
/// because records are read long after they were made. Thread-safe. Takes a lock, so it is for
/// planning, not for the path of a gradient.
class BucketNames {
 public:
  /// Returns the number of the bucket: 0, 1, 2, ...
  std::uint32_t Add(BucketInfo info);
  /// Adds a bucket that comes and goes: equal names have one number. Beyond kMostShared names all
  /// new ones share kOthers, because a program may make up names for ever.
  std::uint32_t AddShared(BucketInfo info);
  static constexpr std::size_t kMostShared = 16384;
  static constexpr const char* kOthers = "other operations";
  /// Returns the bucket of a number that Add returned. Valid as long as this object.
  const BucketInfo& Find(std::uint32_t bucket) const;

 private:
  mutable std::mutex mutex_;
  std::deque<BucketInfo> infos_;  // Entries never move.
  std::unordered_map<std::string, std::uint32_t> shared_;
};

}  // namespace weir
