#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/clock.h"
#include "metrics/records/bucket_names.h"
#include "metrics/records/recorder.h"
#include "metrics/records/run_info.h"
#include "weir/settings.h"

namespace weir {

/// State of a rank at one moment.
struct FlightReport {
  const char* event = "failure";  ///< Why it is written: failure, stall or request.
  std::string reason;             ///< The event in words.
  std::int64_t time_ns = 0;
  struct UnderWay {
    std::string name;
    int process_set = 0;
    bool agreed = false;        ///< True: being exchanged. False: waiting for other ranks.
    std::int64_t since_ns = 0;  ///< Since all ranks had it, or else since it was complete here.
  };
  std::vector<UnderWay> under_way;
  std::string last_finished;  ///< "": nothing yet.
  int request = 0;            ///< Number of the request, if it is one.
  std::vector<int> joined;  ///< Process sets in which the rank has no more data, and lacks nothing.
  std::optional<JobClock> clock;  ///< Empty: not measured in time.
};

/// Most stages and gradients that a recording holds.
inline constexpr std::size_t kFlightRecords = 8192;

/// Writes the report and the rank's last records to the rank's file (docs/reference/run-log.md,
/// "Flight recordings"), for weir-flight to explain. Replaces the file as a whole. Records are kept
/// anyway, so a recording costs nothing until then. Errors are logged, not thrown, because the
/// reported event matters more. Thread-safe.
void WriteFlightRecording(const Settings& settings, const RunInfo& info, const Recorder& recorder,
                          const BucketNames& names, const FlightReport& report) noexcept;

/// Removes a recording of an earlier job, so that any recording found is of this one. Returns why
/// none could be written in its place; "": one can be written.
std::string PrepareFlightRecording(const Settings& settings, int rank);

}  // namespace weir
