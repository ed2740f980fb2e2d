#include "launcher/start/tether.h"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "launcher/start/reach.h"
#include "launcher/text/wait_status.h"

namespace weir::launcher {
namespace {

constexpr char kOption[] = "--tethered";
constexpr std::size_t kOwnWords = 2;  // The option, and the process to live as long as.

extern "C" void KillGroup(int) { kill(0, SIGKILL); }

[[noreturn]] void Execute(const std::vector<std::string>& arguments) {
  std::vector<char*> argv;
  for (std::size_t i = kOwnWords; i < arguments.size(); ++i) {
    argv.push_back(const_cast<char*>(arguments[i].c_str()));
  }
  argv.push_back(nullptr);
  std::signal(SIGTERM, SIG_DFL);
  execvp(argv[0], argv.data());
  std::fprintf(stderr, "weirrun: cannot run '%s': %s\n", argv[0], std::strerror(errno));
  _exit(127);
}

}  // namespace

std::vector<std::string> Tethered(const std::vector<std::string>& command) {
  std::vector<std::string> words = {OwnPath(), kOption, std::to_string(getpid())};
  words.insert(words.end(), command.begin(), command.end());
  return words;
}

bool IsTetheredCall(const std::vector<std::string>& arguments) {
  return arguments.size() > kOwnWords && arguments[0] == kOption;
}

int RunTethered(const std::vector<std::string>& arguments) {
  std::signal(SIGTERM, KillGroup);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (std::to_string(getppid()) != arguments[1]) KillGroup(SIGTERM);
  const pid_t command = fork();
  if (command == 0) Execute(arguments);
  int status = 0;
  while (command > 0 && waitpid(command, &status, 0) < 0 && errno == EINTR) {
  }
  if (command > 0 && WIFSIGNALED(status)) {
    std::signal(WTERMSIG(status), SIG_DFL);
    raise(WTERMSIG(status));
  }
  return command > 0 ? ShellCode(status) : 127;
}

}  // namespace weir::launcher
