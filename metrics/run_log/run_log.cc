#include "metrics/run_log/run_log.h"

#include <fcntl.h>

#include "metrics/rank_path.h"

namespace weir {

RunLog::RunLog(const std::string& path, const RunInfo& info, const BucketNames& names,
               const std::string& run_page)
    : blocks_(info, names, run_page, {.detail_bytes = kDetailBytes}),
      file_(RankPath(path, info.rank), O_TRUNC) {
  Flush(0);
}

void RunLog::Flush(std::int64_t now_ns, bool everything) {
  std::string bytes;
  for (const LogBlock& block : blocks_.Take(now_ns, everything)) bytes += block.bytes;
  if (!bytes.empty()) file_.Write(bytes);
}

}  // namespace weir
