#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/clock.h"
#include "metrics/bucket_names.h"
#include "metrics/recorder.h"
#include "metrics/run_info.h"
#include "weir/settings.h"

namespace weir {

/// What a rank is doing at one moment.
struct FlightReport {
  const char* event = "failure";  ///< Why it is asked: failure, stall or request.
  std::string reason;             ///< In words.
  std::int64_t time_ns = 0;
  struct UnderWay {
    std::string name;
    int process_set = 0;
    bool agreed = false;        ///< It is exchanged; else it waits for other ranks.
    std::int64_t since_ns = 0;  ///< All ranks had it; else: it was complete here.
  };
  std::vector<UnderWay> under_way;
  std::string last_finished;  ///< "": nothing yet.
  int request = 0;            ///< Of a request: the how manieth.
  std::vector<int> joined;  ///< Process sets in which the rank has no more data, and lacks nothing.
  std::optional<JobClock> clock;  ///< Nothing: it was not measured in time.
};

/// Stages and gradients that a recording holds at most.
inline constexpr std::size_t kFlightRecords = 8192;

/// Writes it, and the rank's last records, to the rank's file (docs/reference/run-log.md, "Flight
/// recordings"), for weir-flight to explain. The file is replaced as a whole. Records are kept
/// anyway: until then it costs nothing. What goes wrong is logged and not thrown, since what is
/// reported is what matters. Thread-safe.
void WriteFlightRecording(const Settings& settings, const RunInfo& info, const Recorder& recorder,
                          const BucketNames& names, const FlightReport& report) noexcept;

/// Removes a recording of an earlier job: who finds one should know that it is of this one. Returns
/// why none could be written in its place; "": one could.
std::string PrepareFlightRecording(const Settings& settings, int rank);

}  // namespace weir
