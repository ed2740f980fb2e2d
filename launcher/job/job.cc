#include "launcher/job/job.h"

#include <fmt/core.h>

#include "common/supervision/heartbeat.h"
#include "launcher/text/seconds.h"

namespace weir::launcher {

std::optional<std::string> Silence(const supervision::Message& heartbeat,
                                   std::chrono::milliseconds timeout) {
  const std::chrono::milliseconds silence = heartbeat.code * supervision::kHeartbeatEvery;
  if (timeout.count() == 0 || silence < timeout) return {};
  return fmt::format("silent for {} s{}", InSeconds(silence),
                     heartbeat.text.empty() ? "" : ": it is " + heartbeat.text);
}

}  // namespace weir::launcher
