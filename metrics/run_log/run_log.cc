#include "metrics/run_log/run_log.h"

#include <fcntl.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "metrics/files/rank_path.h"

namespace weir {
namespace {

constexpr std::size_t kMebi = std::size_t{1} << 20;
constexpr std::size_t kDetailOfJob = 256 * kMebi;
constexpr std::size_t kLeastDetail = 4 * kMebi;
constexpr std::size_t kMostDetail = 64 * kMebi;

/// Makes the path free: readers may have mapped an earlier job's file, and keep it.
std::string Vacated(std::string path) {
  std::error_code ignored;  // Opening the file will report any error.
  if (std::filesystem::symlink_status(path, ignored).type() ==
      std::filesystem::file_type::regular) {
    std::filesystem::remove(path, ignored);
  }
  return path;
}

}  // namespace

std::size_t RunLog::DetailBytes(int ranks) {
  return std::clamp(kDetailOfJob / static_cast<std::size_t>(ranks), kLeastDetail, kMostDetail);
}

RunLog::RunLog(const std::string& path, const RunInfo& info, const BucketNames& names,
               const std::string& run_page)
    : blocks_(info, names, run_page, {.detail_bytes = DetailBytes(info.size)}),
      file_(Vacated(RankPath(path, info.rank)), O_TRUNC) {
  Flush(0);
}

void RunLog::Flush(std::int64_t now_ns, bool everything) {
  std::string bytes;
  for (const LogBlock& block : blocks_.Take(now_ns, everything)) bytes += block.bytes;
  if (!bytes.empty()) file_.Write(bytes);
}

}  // namespace weir
