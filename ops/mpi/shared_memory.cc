#include "ops/mpi/shared_memory.h"

#include <sys/statvfs.h>

#include <algorithm>
#include <cstdlib>

#include "common/text/parse_number.h"
#include "weir/error.h"

namespace weir::mpi {
namespace {

/// Measured with MPICH 5.0.2: 10.3, 20.6 and 41.1 MiB for 2, 4 and 8 ranks.
constexpr std::uint64_t kBytesOfARank = std::uint64_t{5400} << 10;
/// MPICH's UCX tries to get more when it starts, and crashes where it gets a part of it: seen up to
/// 21, 22 and 30 MiB for 2, 3 and 4 ranks.
constexpr std::uint64_t kBytesAtStart = std::uint64_t{12} << 20;

std::string InMiB(std::uint64_t bytes) {
  constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
  return std::to_string((bytes + kMiB - 1) / kMiB) + " MiB";
}

}  // namespace

std::string SharedMemoryShortage(std::uint64_t total, std::uint64_t free, int ranks) {
  const std::uint64_t needed =
      kBytesOfARank * static_cast<std::uint64_t>(ranks) + (ranks > 1 ? kBytesAtStart : 0);
  // Other ranks of this job may have taken their part of what is free already.
  if (total >= needed && free >= kBytesOfARank) return {};
  return "/dev/shm has " + InMiB(total) + ", of which " + InMiB(free) +
         " are free, and MPI needs " + InMiB(needed) + " of it for the " + std::to_string(ranks) +
         " ranks of this host: make it larger (docker run --shm-size), remove what others have "
         "left "
         "there, or take WEIR_TRANSPORT=ucx, which needs none";
}

void CheckSharedMemory() {
  struct statvfs status {};
  if (statvfs("/dev/shm", &status) != 0) return;
  const char* text = std::getenv("MPI_LOCALNRANKS");
  const int ranks = std::max(1, ParseNumber<int>(text == nullptr ? "" : text).value_or(1));
  const std::uint64_t block = status.f_frsize;
  const std::string shortage =
      SharedMemoryShortage(block * status.f_blocks, block * status.f_bavail, ranks);
  if (!shortage.empty()) throw InvalidArgument(shortage);
}

}  // namespace weir::mpi
