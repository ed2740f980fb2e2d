#pragma once

#include <cstdint>

namespace weir {

/// Number of forks between the program's start and this process. Objects that own threads keep
/// the value at their creation. In a forked child it differs, and they must not touch their
/// threads. Thread-safe; costs one load.
std::uint64_t ForkGeneration();

}  // namespace weir
