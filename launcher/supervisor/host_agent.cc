#include "launcher/supervisor/host_agent.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "common/unique_fd.h"
#include "launcher/start/host_job.h"
#include "launcher/supervisor/supervisor.h"
#include "weir/error.h"

namespace weir::launcher {
namespace {

std::string ReadExactly(std::size_t bytes) {
  std::string text(bytes, '\0');
  for (std::size_t at = 0; at < bytes;) {
    const ssize_t n = read(STDIN_FILENO, text.data() + at, bytes - at);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) throw Corrupt("stdin ends before the host's job does", {});
    at += static_cast<std::size_t>(n);
  }
  return text;
}

/// Takes the job's environment and folder in place of those that ssh has made.
void MoveInto(const HostJob& job) {
  clearenv();
  for (const std::string& variable : job.environment) {
    const std::size_t equals = variable.find('=');
    if (equals == std::string::npos || equals == 0) continue;
    setenv(variable.substr(0, equals).c_str(), variable.c_str() + equals + 1, 1);
  }
  if (chdir(job.folder.c_str()) != 0) {
    throw InvalidArgument("its working directory cannot be " + job.folder + ": " +
                          std::strerror(errno));
  }
}

/// The processes of a job on one host, by rank.
std::vector<int> ProcessesOn(const std::string& host, const HostJob& job) {
  std::vector<int> processes;
  for (std::size_t r = 0; r < job.hosts.size(); ++r) {
    if (job.hosts[r] == host) processes.push_back(static_cast<int>(r));
  }
  return processes;
}

SupervisorConfig ConfigOf(const HostJob& job, const std::vector<int>& here, std::size_t local) {
  const int size = static_cast<int>(job.hosts.size());
  const int rank = here[local];
  return {.place = {.rank = rank,
                    .size = size,
                    .local_rank = static_cast<int>(local),
                    .local_size = static_cast<int>(here.size())},
          .addresses = job.addresses,
          .token = job.token,
          .grace = GraceFromText(job.grace_seconds),
          .command = rank < size - job.servers ? job.command : job.server};
}

}  // namespace

int RunHostAgent(const std::string& name) {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGUSR1, SIG_IGN);  // Meant for weirrun, which has the same name.
  try {
    const char* node = std::getenv("SLURMD_NODENAME");
    const std::string host = name.empty() && node != nullptr ? node : name;
    const HostJob job = DecodeHostJob(ReadExactly(HostJobBytes(ReadExactly(kHostJobHeader))));
    const std::vector<int> here = ProcessesOn(host, job);
    if (here.empty()) throw InvalidArgument("no rank of the job is on a host of the name " + host);
    MoveInto(job);
    std::vector<UniqueFd> anchors;
    for (std::size_t local = 0; local < here.size(); ++local) {
      int ends[2];
      if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
        throw InvalidArgument(std::string("cannot make a pair of sockets: ") +
                              std::strerror(errno));
      }
      anchors.emplace_back(ends[0]);
      UniqueFd supervisor_end(ends[1]);
      const pid_t supervisor = fork();
      if (supervisor < 0) {
        throw InvalidArgument(std::string("cannot fork: ") + std::strerror(errno));
      }
      if (supervisor > 0) continue;
      anchors.clear();  // Only the agent's end shall close them.
      setsid();
      _exit(Supervise(ConfigOf(job, here, local), std::move(supervisor_end)) ? 0 : 1);
    }
    // Rank 0's supervisor has its own copy; here it would stay open when that has ended.
    close(STDIN_FILENO);
    int code = 0;
    int status = 0;
    while (wait(&status) > 0) {
      if (status != 0) code = 1;
    }
    return code;
  } catch (const Error& error) {
    std::fprintf(stderr, "weirrun: %s\n", error.what());
    return 1;
  }
}

}  // namespace weir::launcher
