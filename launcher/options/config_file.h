#pragma once

#include <map>
#include <string>
#include <vector>

namespace weir::launcher {

/// A config file in Horovod's YAML layout: sections params, timeline, stall-check, autotune,
/// logging, metrics (Weir's own), and library-options, which sets nothing here.
struct ConfigFile {
  std::map<std::string, std::string> environment{};  ///< WEIR_* variables that it sets.
  std::map<std::string, std::string> origins{};      ///< "FILE:LINE" that set a variable.
  bool verbose = false;
  std::vector<std::string> notices{};
};

/// Throws InvalidArgument that names the file, the line and the nearest known key.
ConfigFile ReadConfigFile(const std::string& path);

}  // namespace weir::launcher
