#include "launcher/start/reach.h"

#include <unistd.h>

#include <cstdlib>
#include <sstream>

namespace weir::launcher {

namespace fs = std::filesystem;

std::string OwnPath() { return fs::read_symlink("/proc/self/exe"); }

bool IsExecutable(const fs::path& path) {
  return !path.empty() && access(path.c_str(), X_OK) == 0 && !fs::is_directory(path);
}

fs::path FindInPath(const std::string& name) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (IsExecutable(fs::path(folder) / name)) return fs::path(folder) / name;
  }
  return {};
}

std::string VariableOrEmpty(const char* variable) {
  const char* value = std::getenv(variable);
  return value == nullptr ? "" : value;
}

bool ReachesBySrun(const Options& options) {
  const bool wants_ssh = !VariableOrEmpty("HYDRA_LAUNCHER").empty() ||
                         !VariableOrEmpty("HYDRA_LAUNCHER_EXEC").empty() ||
                         options.environment.contains("HYDRA_LAUNCHER_EXTRA_ARGS");
  return !wants_ssh && options.hosts_origin.starts_with("SLURM_") && !AllLocal(options.hosts) &&
         !FindInPath("srun").empty();
}

}  // namespace weir::launcher
