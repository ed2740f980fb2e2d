#include "launcher/start/remote_shell.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string_view>
#include <utility>

#include "common/supervision/supervision.h"
#include "common/unique_fd.h"
#include "launcher/job/start_trouble.h"
#include "launcher/text/wait_status.h"

namespace weir::launcher {
namespace {

// Options of OpenSSH that take a value.
constexpr std::string_view kWithValue = "BbcDEeFIiJLlmOopQRSWw";

/// Runs in the child. Does not return.
void RunSsh(const std::vector<char*>& argv, int errors, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);
  dup2(errors, STDERR_FILENO);
  execvp(argv[0], argv.data());
  dprintf(STDERR_FILENO, "cannot run '%s': %s\n", argv[0], std::strerror(errno));
  _exit(127);
}

/// True if the parent belongs to the job. Otherwise mpiexec had ended before we asked for its death
/// signal, and another process has become our parent.
bool ParentIsOfTheJob() {
  const char* const token = std::getenv(supervision::kTokenVariable);
  const std::string path = "/proc/" + std::to_string(getppid()) + "/environ";
  if (token == nullptr) return true;
  if (access(path.c_str(), R_OK) != 0) return errno != EACCES;  // Another user's, so not mpiexec.
  std::ifstream file(path, std::ios::binary);
  const std::string environment(std::istreambuf_iterator<char>(file), {});
  return environment.find(std::string(supervision::kTokenVariable) + "=" + token) !=
         std::string::npos;
}

/// Replaces our stderr by mpiexec's, a pipe to weirrun. Hydra, which reads the one it gave us, may
/// end at the news of our end before it reads our last words.
void WriteToWeirrun() {
  const std::string path = "/proc/" + std::to_string(getppid()) + "/fd/2";
  const UniqueFd stderr_of_mpiexec(open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY));
  if (stderr_of_mpiexec) dup2(stderr_of_mpiexec.get(), STDERR_FILENO);
}

void WriteLine(const std::string& line) { std::fprintf(stderr, "%s\n", line.c_str()); }

/// Passes on all output in whole lines, as others write to the same pipe, and
/// returns the last line with text.
std::string PassOn(const UniqueFd& errors) {
  std::string last;
  std::string line;
  std::array<char, 4096> bytes;
  ssize_t n = 0;
  while ((n = read(errors.get(), bytes.data(), bytes.size())) > 0 || (n < 0 && errno == EINTR)) {
    if (n < 0) continue;
    for (const char c : std::string_view(bytes.data(), static_cast<std::size_t>(n))) {
      if (c != '\n' && c != '\r') {
        if (line.size() < bytes.size()) line += c;
        continue;
      }
      if (line.empty()) continue;
      WriteLine(line);
      last = std::exchange(line, {});
    }
  }
  if (line.empty()) return last;
  WriteLine(line);
  return line;
}

}  // namespace

std::string ConnectSeconds(double start_seconds) {
  // Shorter than the start timeout, so that the reason is known by then.
  return std::to_string(std::max(1, static_cast<int>(std::min(start_seconds, 86400.0)) - 1));
}

std::string RemoteShellValue(double start_seconds, const std::string& ssh) {
  return ConnectSeconds(start_seconds) + " " + ssh;
}

bool IsRemoteShellCall(const std::vector<std::string>& arguments) {
  return std::getenv(kRemoteShellVariable) != nullptr && !arguments.empty() &&
         (arguments[0] == "-x" || arguments[0] == "-X");
}

std::size_t HostIndex(const std::vector<std::string>& arguments) {
  std::size_t i = 0;
  while (i < arguments.size() && arguments[i].starts_with('-')) {
    const bool value_follows =
        arguments[i].size() == 2 && kWithValue.find(arguments[i][1]) != std::string_view::npos;
    i += value_follows ? 2 : 1;
  }
  return std::min(i, arguments.size());
}

int RunRemoteShell(std::vector<std::string> arguments) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // Must not outlive the mpiexec that wants it.
  if (!ParentIsOfTheJob()) return 1;
  std::string seconds;
  std::string ssh;
  std::istringstream value(std::getenv(kRemoteShellVariable));
  std::getline(value >> seconds >> std::ws, ssh);
  WriteToWeirrun();
  const std::size_t at = HostIndex(arguments);
  const std::string host = at < arguments.size() ? arguments[at] : "(none)";
  arguments.insert(arguments.begin() + static_cast<std::ptrdiff_t>(at),
                   {"-o", "BatchMode=yes", "-o", "ConnectTimeout=" + seconds});
  std::vector<char*> argv = {ssh.data()};
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);

  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return 1;
  const UniqueFd read_end(ends[0]);
  UniqueFd write_end(ends[1]);
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child == 0) RunSsh(argv, write_end.get(), parent);
  write_end.reset();
  const std::string last = PassOn(read_end);
  int status = 0;
  waitpid(child, &status, 0);
  if (status != 0) {
    const std::string how = "ssh ended with " + DescribeStatus(status);
    WriteLine(TroubleLine({.host = host, .why = how + (last.empty() ? "" : ": " + last)}));
  }
  return ShellCode(status);
}

}  // namespace weir::launcher
