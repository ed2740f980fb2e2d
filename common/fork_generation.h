#pragma once

#include <cstdint>

namespace weir {

/// How many forks lie between the program's start and this process. Objects that own threads keep
/// the value they were made under: in a forked child it differs, and they must not touch their
/// threads. Thread-safe, costs one load.
std::uint64_t ForkGeneration();

}  // namespace weir
