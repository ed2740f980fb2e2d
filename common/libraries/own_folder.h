#pragma once

#include <filesystem>

namespace weir {

/// Returns the folder of the library, or the program, that has Weir's code in it; empty if the
/// system does not say. Thread-safe.
std::filesystem::path OwnFolder();

}  // namespace weir
