#include "launcher/start/mpiexec.h"

#include <fcntl.h>
#include <spawn.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <sstream>

#include "weir/error.h"

namespace weir::launcher {
namespace {

namespace fs = std::filesystem;

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

std::string Value(const char* variable) {
  const char* value = std::getenv(variable);
  return value == nullptr ? "" : value;
}

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
  const std::string launcher = Value("HYDRA_LAUNCHER");
  if (!launcher.empty() && launcher != "ssh") return {};
  // Hosts of a Slurm job often accept no ssh.
  const bool wants_ssh = !launcher.empty() || !Value("HYDRA_LAUNCHER_EXEC").empty() ||
                         options.environment.contains("HYDRA_LAUNCHER_EXTRA_ARGS");
  if (!wants_ssh && options.hosts_origin.starts_with("SLURM_") && !FindInPath("srun").empty()) {
    return {"-launcher", "slurm"};
  }
  return {"-launcher", "ssh", "-launcher-exec", OwnPath()};
}

}  // namespace

std::string OwnPath() { return fs::read_symlink("/proc/self/exe"); }

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

Mpiexec StartMpiexec(const std::vector<std::string>& command, const FileLimit& limit) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    throw InvalidArgument(std::string("cannot make a pipe: ") + std::strerror(errno));
  }
  Mpiexec started{.pid = -1, .output = UniqueFd(ends[0])};
  const UniqueFd write_end(ends[1]);
  fcntl(ends[0], F_SETFL, O_NONBLOCK);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, write_end.get(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, write_end.get(), STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  sigset_t all;
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  std::vector<char*> argv;
  argv.reserve(command.size() + 1);
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  limit.RestoreUsers();
  const int error =
      posix_spawn(&started.pid, command[0].c_str(), &actions, &attributes, argv.data(), environ);
  limit.Raise();
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (error != 0) {
    throw InvalidArgument("cannot run '" + command[0] + "': " + std::strerror(error));
  }
  return started;
}

}  // namespace weir::launcher
