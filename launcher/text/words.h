#pragma once

#include <string>
#include <vector>

namespace weir::launcher {

/// Divides text at every separator. Empty words are left out.
std::vector<std::string> Words(const std::string& text, char separator);

}  // namespace weir::launcher
