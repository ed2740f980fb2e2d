#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "metrics/files/snapshot_file.h"
#include "metrics/records/bucket_names.h"
#include "metrics/records/record.h"
#include "metrics/records/run_info.h"

namespace weir {

/// Writes records as a Chrome trace (a JSON array of events) with Horovod's names, for Perfetto or
/// chrome://tracing. Every bucket has a track, and a second one for its negotiation, which runs
/// beside packing and compressing. A bucket is in flight at most once at a time, so no two events
/// of a track overlap. The file is valid JSON whenever it is opened (SnapshotFile). Times are
/// microseconds of CLOCK_MONOTONIC, so the ranks of a host share one axis; the process's metadata
/// tells the wall clock's time at 0.
///
/// Not thread-safe: written by the thread that reads the records, never by one that trains.
class Timeline {
 public:
  /// Creates the rank's file (RankPath). Throws InvalidArgument when that fails.
  Timeline(const std::string& path, const RunInfo& info, const BucketNames& names,
           bool mark_cycles);

  /// Throws InvalidArgument when the disk refuses the event.
  void Add(const StageRecord& record);
  /// Publishes the file if it is due. Call it after a batch of records.
  void Flush(std::int64_t now_ns) { file_.PublishIfDue(now_ns); }

 private:
  /// A bucket whose tracks have been named, and its events' names as JSON strings.
  struct Track {
    /// By route, then by stage; empty: not named yet.
    std::vector<std::array<std::string, kBucketStageCount>> event_names;
  };
  const Track& TrackOf(std::uint32_t bucket);

  const int rank_;
  const BucketNames& names_;
  const bool mark_cycles_;
  std::vector<Track> tracks_;  // By bucket.
  SnapshotFile file_;
};

}  // namespace weir
