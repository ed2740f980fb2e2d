#include "launcher/text/wait_status.h"

#include <sys/wait.h>

#include <cstring>

namespace weir::launcher {

std::string DescribeStatus(int wait_status) {
  if (WIFSIGNALED(wait_status)) {
    const int signal = WTERMSIG(wait_status);
    return "signal " + std::to_string(signal) + " (" + strsignal(signal) + ")";
  }
  return "exit code " + std::to_string(WEXITSTATUS(wait_status));
}

int ShellCode(int wait_status) {
  return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

}  // namespace weir::launcher
