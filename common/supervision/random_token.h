#pragma once

#include <string>

namespace weir::supervision {

/// Returns 32 hexadecimal digits that nobody can guess. Throws InvalidArgument when the system has
/// no random numbers. Thread-safe.
std::string RandomToken();

}  // namespace weir::supervision
