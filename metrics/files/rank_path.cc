#include "metrics/files/rank_path.h"

#include <fmt/core.h>

#include <filesystem>

namespace weir {

std::string RankPath(const std::string& path, int rank) {
  if (rank == 0) return path;
  const std::filesystem::path whole(path);
  const std::string name =
      fmt::format("{}.rank{}{}", whole.stem().string(), rank, whole.extension().string());
  return (whole.parent_path() / name).string();
}

}  // namespace weir
