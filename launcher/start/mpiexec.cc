#include "launcher/start/mpiexec.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "launcher/start/reach.h"
#include "weir/error.h"

namespace weir::launcher {
namespace {

namespace fs = std::filesystem;

bool Names(const std::vector<std::string>& words, std::initializer_list<const char*> wanted) {
  return std::ranges::any_of(words, [&](const std::string& word) {
    return std::ranges::find(wanted, word) != wanted.end();
  });
}

/// Returns the arguments that tell Hydra how to reach the hosts. A user's own choice wins, in
/// arguments for mpiexec or in Hydra's variables.
std::vector<std::string> HowToReach(const Options& options) {
  if (AllLocal(options.hosts)) return {"-launcher", "fork"};
  const std::vector<std::string>& given = options.mpiexec_arguments;
  if (Names(given, {"-launcher", "-bootstrap", "-launcher-exec", "-bootstrap-exec"})) return {};
  const std::string launcher = VariableOrEmpty("HYDRA_LAUNCHER");
  if (!launcher.empty() && launcher != "ssh") return {};
  if (ReachesBySrun(options)) return {"-launcher", "slurm"};
  return {"-launcher", "ssh", "-launcher-exec", OwnPath()};
}

}  // namespace

std::string FindMpiexec() {
  if (const char* given = std::getenv("WEIR_MPIEXEC"); given != nullptr && *given != '\0') {
    if (IsExecutable(given)) return given;
    throw InvalidArgument(std::string("WEIR_MPIEXEC is '") + given +
                          "', which is not an executable file");
  }
  for (const fs::path& candidate :
       {fs::path(OwnPath()).parent_path() / "mpiexec", fs::path(WEIR_BUILD_MPIEXEC),
        FindInPath("mpiexec.hydra"), FindInPath("mpiexec")}) {
    if (IsExecutable(candidate)) return candidate;
  }
  throw InvalidArgument(
      "no mpiexec found beside weirrun or in $PATH; install MPICH (pip install mpich), or name its "
      "mpiexec in WEIR_MPIEXEC");
}

std::vector<std::string> MpiexecCommand(const std::string& mpiexec, const Options& options) {
  std::vector<std::string> command = {mpiexec, "-np", std::to_string(options.ranks), "-hosts",
                                      HostsText(options.hosts)};
  for (std::string& word : HowToReach(options)) command.push_back(std::move(word));
  if (!options.interfaces.empty() && !AllLocal(options.hosts)) {
    command.insert(command.end(), {"-iface", options.interfaces.front()});
  }
  command.insert(command.end(), options.mpiexec_arguments.begin(), options.mpiexec_arguments.end());
  command.insert(command.end(), {OwnPath(), "--supervise", "--"});
  command.insert(command.end(), options.command.begin(), options.command.end());
  if (options.servers > 0) {
    const std::string server = fs::path(OwnPath()).parent_path() / "weir-server";
    command.insert(command.end(), {":", "-np", std::to_string(options.servers), OwnPath(),
                                   "--supervise", "--", server});
  }
  return command;
}

}  // namespace weir::launcher
