#pragma once

#include <cstdint>
#include <string>

namespace weir::mpi {

/// Returns what is wrong with a /dev/shm of `total` bytes, of which `free` are free, for `ranks` on
/// this host; "" for nothing. MPI maps files there without asking whether they fit, and a rank that
/// then writes to one ends by SIGBUS.
std::string SharedMemoryShortage(std::uint64_t total, std::uint64_t free, int ranks);

/// Throws InvalidArgument with the same for this host, before MPI is initialised.
void CheckSharedMemory();

}  // namespace weir::mpi
