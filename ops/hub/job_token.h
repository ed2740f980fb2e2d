#pragma once

#include <string>

namespace weir {

/// Returns what all processes of a job know and no stranger does: `token`, or what `file` holds, or
/// else what the file .weir/token in the user's home holds, which is made when it is missing.
/// Throws InvalidArgument when that file cannot be read or made, or others may read it.
std::string JobToken(const std::string& token, const std::string& file);

}  // namespace weir
