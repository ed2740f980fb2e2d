#include "metrics/flight_recording.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <exception>
#include <nlohmann/json.hpp>
#include <utility>

#include "common/log.h"
#include "metrics/files/json_text.h"
#include "metrics/files/output_file.h"
#include "metrics/files/rank_path.h"
#include "metrics/pages/run_page.h"
#include "metrics/run_log/block.h"
#include "metrics/run_log/log_blocks.h"
#include "weir/error.h"

namespace weir {
namespace {

/// Path of the file before it takes its place. A rank may be killed in the middle, and an earlier
/// event's file is better than half a new one. Another job may fail in the same folder.
std::string Beside(const std::string& path) {
  return path + "." + std::to_string(getpid()) + ".part";
}

std::string Describe(const FlightReport& report) {
  nlohmann::ordered_json under_way = nlohmann::ordered_json::array();
  for (const FlightReport::UnderWay& one : report.under_way) {
    under_way.push_back({{"name", one.name},
                         {"process_set", one.process_set},
                         {"phase", one.agreed ? "exchange" : "negotiate"},
                         {"since_ns", one.since_ns}});
  }
  return JsonText({{"event", report.event},
                   {"reason", report.reason},
                   {"time_ns", report.time_ns},
                   {"under_way", std::move(under_way)},
                   {"last_finished", report.last_finished},
                   {"request", report.request},
                   {"joined", report.joined}});
}

void Write(const Settings& settings, const RunInfo& info, const Recorder& recorder,
           const BucketNames& names, const FlightReport& report) {
  LogBlocks blocks(info, names, RunPage(settings, info), {});
  std::vector<StageRecord> records(kFlightRecords);
  const auto read = recorder.ReadNewest(records);
  for (std::size_t i = 0; i < read.count; ++i) blocks.Add(records[i]);

  std::string bytes = RunLogBlock("flight", info.rank).Text(Describe(report)).Bytes();
  for (const LogBlock& block : blocks.Take(report.time_ns, /*everything=*/true)) {
    bytes += block.bytes;
  }
  const std::string path = RankPath(settings.flight_filename, info.rank);
  const std::string beside = Beside(path);
  try {
    OutputFile(beside, O_TRUNC).Write(bytes);
    if (std::rename(beside.c_str(), path.c_str()) != 0) OutputFile::Fail(path, errno);
  } catch (...) {
    std::remove(beside.c_str());
    throw;
  }
}

}  // namespace

void WriteFlightRecording(const Settings& settings, const RunInfo& info, const Recorder& recorder,
                          const BucketNames& names, const FlightReport& report) noexcept {
  try {
    Write(settings, info, recorder, names, report);
  } catch (const std::exception& error) {
    LogWarning("no flight recording: {}", error.what());
  }
}

std::string PrepareFlightRecording(const Settings& settings, int rank) {
  const std::string path = RankPath(settings.flight_filename, rank);
  std::remove(path.c_str());
  const std::string beside = Beside(path);
  std::string trouble;
  try {
    OutputFile(beside, O_TRUNC).Write("");
  } catch (const InvalidArgument& error) {
    trouble = error.what();
    if (const auto at = trouble.find(beside); at != std::string::npos) {
      trouble.replace(at, beside.size(), path);
    }
  }
  std::remove(beside.c_str());
  return trouble;
}

}  // namespace weir
