#pragma once

#include <string>

namespace weir {

/// Why a file that dlopen would take must not be given to it, as it would wait (a pipe) or end the
/// process (a library cut off in a copy, whose missing pages raise SIGBUS); empty where nothing of
/// that is seen. What is not there, or not of this kind at all, is left to dlopen. Thread-safe.
std::string DamageOf(const std::string& path);

}  // namespace weir
