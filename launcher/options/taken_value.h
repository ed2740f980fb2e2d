#pragma once

#include <string>
#include <vector>

namespace weir::launcher {

/// Returns why the words after an option, by its name in CLI11's spelling, cannot be its values;
/// empty where they may be. Where the value was left out, they begin the program.
std::string WhyNoValue(const std::string& name, const std::vector<std::string>& words);

}  // namespace weir::launcher
