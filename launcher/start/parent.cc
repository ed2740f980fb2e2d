#include "launcher/start/parent.h"

#include <sys/prctl.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>

#include "common/supervision/supervision.h"

namespace weir::launcher {

void EndWithParent() {
  const char* parent = std::getenv(supervision::kParentVariable);
  if (parent == nullptr) return;
  const auto pid = static_cast<pid_t>(std::strtol(parent, nullptr, 10));
  unsetenv(supervision::kParentVariable);  // That process is not the parent of the ranks' programs.
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  const bool has_ended = kill(pid, 0) != 0 && errno == ESRCH;
  if (has_ended) raise(SIGTERM);
}

}  // namespace weir::launcher
