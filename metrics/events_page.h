#pragma once

#include <string>
#include <string_view>

#include "metrics/bucket_names.h"
#include "metrics/long_poll.h"
#include "metrics/recorder.h"

namespace weir {

/// The newest records as newline-delimited JSON (/events, docs/reference/monitoring.md), straight
/// from the recorder, whose size bounds what a slow reader can still get. Thread-safe.
class EventsPage {
 public:
  static constexpr std::size_t kMostRecords = 4096;  ///< Of an answer.

  /// Both must outlive it.
  EventsPage(const Recorder& recorder, const BucketNames& names)
      : recorder_(recorder), names_(names) {}

  /// "after=N&wait=SECONDS": a line {"next", "lost"}, and one for each record from number N on.
  /// Waits so long for a first one. Throws InvalidArgument for a query that is none.
  std::string Answer(std::string_view query);
  /// There may be new records.
  void Wake() { poll_.Wake(); }
  /// Readers wait no longer.
  void Close() { poll_.Close(); }

 private:
  const Recorder& recorder_;
  const BucketNames& names_;
  LongPoll poll_;
};

}  // namespace weir
