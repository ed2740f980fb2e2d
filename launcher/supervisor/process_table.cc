#include "launcher/supervisor/process_table.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "common/text/parse_number.h"

namespace weir::launcher {
namespace {

namespace fs = std::filesystem;

struct Stat {
  std::string state;
  pid_t parent = 0;
  pid_t group = 0;
  pid_t session = 0;
};

/// Reads /proc/<pid>/stat from field 3 on. The fields follow the command's closing bracket, because
/// the command itself may contain anything.
Stat Read(const fs::path& process) {
  std::ifstream file(process / "stat");
  std::string line;
  std::getline(file, line);
  std::istringstream rest(line.substr(std::min(line.size(), line.rfind(')') + 1)));
  Stat stat;
  rest >> stat.state >> stat.parent >> stat.group >> stat.session;
  return stat;
}

template <typename Predicate>
std::vector<pid_t> LivingProcesses(Predicate wanted) {
  std::vector<pid_t> result;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator("/proc", ignored)) {
    const std::string name = entry.path().filename();
    const auto process = ParseNumber<pid_t>(name);
    if (!process) continue;
    const Stat stat = Read(entry.path());
    if (stat.state != "Z" && wanted(stat)) result.push_back(*process);
  }
  return result;
}

}  // namespace

std::vector<pid_t> ProcessesOfSession(pid_t session) {
  return LivingProcesses([session](const Stat& stat) { return stat.session == session; });
}

std::vector<pid_t> ChildrenOf(pid_t parent) {
  return LivingProcesses([parent](const Stat& stat) { return stat.parent == parent; });
}

std::string HaltOf(pid_t process) {
  const std::string state = Read(fs::path("/proc") / std::to_string(process)).state;
  if (state == "T") return "stopped by a signal";
  if (state == "t") return "stopped by a debugger";
  return state == "D" ? "waiting for a device" : "";
}

std::string ExecutableOf(pid_t process) {
  std::error_code ignored;
  return fs::read_symlink(fs::path("/proc") / std::to_string(process) / "exe", ignored);
}

std::set<std::string> FilesInUse(pid_t process, const std::string& directory) {
  const fs::path proc = fs::path("/proc") / std::to_string(process);
  const std::string prefix = directory + "/";
  std::set<std::string> files;
  std::ifstream maps(proc / "maps");
  for (std::string line; std::getline(maps, line);) {
    const std::size_t begin = line.find(" " + prefix);
    if (begin != std::string::npos) files.insert(line.substr(begin + 1));
  }
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(proc / "fd", ignored)) {
    const std::string target = fs::read_symlink(entry.path(), ignored);
    if (target.starts_with(prefix)) files.insert(target);
  }
  // The kernel marks what was unlinked with " (deleted)"; such a name does not exist.
  std::erase_if(files, [&](const std::string& file) { return !fs::exists(file, ignored); });
  return files;
}

}  // namespace weir::launcher
