#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace weir {

/// The forms of a group's buckets from a step on (FormsText).
struct PlannedForms {
  std::int64_t from_step = 0;
  std::string forms;
  int ranks = 0;         ///< For which it was made.
  bool settled = false;  ///< It was not only tried.
};

/// The file of a job's plans (WEIR_PLAN_FILENAME), which rank 0 reads and writes. A group that it
/// knows when the job starts keeps to its plans, if the last one was settled and all are for as
/// many ranks; of others the plans are written down, in the place of those for other numbers of
/// ranks. JSON: by group, objects with the members of PlannedForms. Thread-safe.
class PlanFile {
 public:
  /// Reads the file, if there is one. An empty path: nothing is read or written. Throws
  /// InvalidArgument for a file that cannot be read, or is none of plans.
  explicit PlanFile(std::string path);

  bool empty() const { return path_.empty(); }
  /// Returns a group's plans as read, by step; empty: the file has none to follow.
  std::vector<PlannedForms> PinnedOf(const std::string& group, int ranks) const;
  /// Adds a plan, and writes the file. Logs an error if that fails.
  void Add(const std::string& group, const PlannedForms& plan);

 private:
  using ByGroup = std::map<std::string, std::vector<PlannedForms>>;
  void Write() const;

  const std::string path_;
  ByGroup pinned_;
  std::mutex mutex_;
  ByGroup all_;
};

}  // namespace weir
