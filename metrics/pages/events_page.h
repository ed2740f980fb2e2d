#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "metrics/http/long_poll.h"
#include "metrics/records/bucket_names.h"
#include "metrics/records/recorder.h"

namespace weir {

/// The newest records as newline-delimited JSON (/events, docs/reference/monitoring.md), read
/// directly from the recorder, whose size bounds what a slow reader can still get. Thread-safe.
class EventsPage {
 public:
  static constexpr std::size_t kMostRecords = 4096;  ///< In one answer.

  /// All must outlive it; a thread that adds records wakes `poll`. `job`: JobId.
  EventsPage(std::string job, const Recorder& recorder, const BucketNames& names, LongPoll& poll)
      : job_(std::move(job)), recorder_(recorder), names_(names), poll_(poll) {}

  /// Answers a FollowQuery with a line {"next", "lost"}, and a line for each record from number
  /// `after` on. Waits for the first one. Throws InvalidArgument for an invalid query.
  std::string Answer(std::string_view query);

 private:
  const std::string job_;
  const Recorder& recorder_;
  const BucketNames& names_;
  LongPoll& poll_;
};

}  // namespace weir
