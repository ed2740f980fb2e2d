#include "tests/faults/programs/damage.h"

#include <mpi.h>

#include <atomic>
#include <cstddef>
#include <deque>
#include <random>
#include <vector>

namespace weir::faults {
namespace {

constexpr int kShortestFrame = 100;

struct Damage {
  std::atomic<bool> is_due = false;
  std::uint64_t seed = 0;
  std::deque<std::vector<std::byte>> sent;  ///< MPI reads them until they have arrived.
};

Damage& Wanted() {
  static Damage damage;
  return damage;
}

}  // namespace

void DamageNextFrame(std::uint64_t seed) {
  Wanted().seed = seed;
  Wanted().is_due = true;
}

}  // namespace weir::faults

/// Takes the place of MPI's own, which MPI also has under the name PMPI_Isend for such uses.
extern "C" int MPI_Isend(const void* data, int bytes, MPI_Datatype type, int to, int tag,
                         MPI_Comm communicator, MPI_Request* request) {
  auto& damage = weir::faults::Wanted();
  if (bytes < weir::faults::kShortestFrame || !damage.is_due.exchange(false)) {
    return PMPI_Isend(data, bytes, type, to, tag, communicator, request);
  }
  std::mt19937_64 random(damage.seed);
  const auto* const first = static_cast<const std::byte*>(data);
  auto& copy = damage.sent.emplace_back(first, first + bytes);
  if (random() % 3 == 0) {
    copy.resize(random() % copy.size());
  } else {
    copy[random() % copy.size()] ^= std::byte(1U << random() % 8);
  }
  return PMPI_Isend(copy.data(), static_cast<int>(copy.size()), type, to, tag, communicator,
                    request);
}
