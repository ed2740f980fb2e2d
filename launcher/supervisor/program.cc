#include "launcher/supervisor/program.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "common/supervision/supervision.h"
#include "launcher/start/pipe.h"
#include "launcher/supervisor/process_table.h"
#include "weir/error.h"

namespace weir::launcher {
Program::Program(const std::vector<std::string>& command) {
  int sockets[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) != 0) {
    throw InvalidArgument(std::string("cannot make a socket pair: ") + std::strerror(errno));
  }
  engine_.reset(sockets[0]);
  UniqueFd program_end(sockets[1]);
  Pipe out = MakePipe();
  Pipe err = MakePipe();
  Pipe failure = MakePipe();

  // Everything that allocates is done before the fork.
  std::vector<char*> argv;
  argv.reserve(command.size() + 1);
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  setenv(supervision::kEngineFdVariable, std::to_string(program_end.get()).c_str(), 1);
  setenv(supervision::kProtocolVariable, std::to_string(supervision::kVersion).c_str(), 1);
  setenv("PYTHONUNBUFFERED", "1", 0);  // Output before a kill is not lost.

  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ < 0) throw InvalidArgument(std::string("cannot fork: ") + std::strerror(errno));
  if (pid_ == 0) {
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(127);
    fcntl(program_end.get(), F_SETFD, 0);
    dup2(out.write.get(), STDOUT_FILENO);
    dup2(err.write.get(), STDERR_FILENO);
    sigset_t none;
    sigemptyset(&none);
    for (const int signal : {SIGPIPE, SIGINT, SIGTERM, SIGHUP, SIGUSR1}) {
      std::signal(signal, SIG_DFL);
    }
    sigprocmask(SIG_SETMASK, &none, nullptr);
    execvp(argv[0], argv.data());
    const int error = errno;
    [[maybe_unused]] const ssize_t n = write(failure.write.get(), &error, sizeof error);
    _exit(127);
  }
  setpgid(pid_, pid_);  // Both sides do it, so that neither runs ahead.
  failure.write.reset();
  int error = 0;
  if (read(failure.read.get(), &error, sizeof error) == sizeof error) {
    waitpid(pid_, nullptr, 0);
    throw InvalidArgument("cannot run '" + command[0] + "': " + std::strerror(error));
  }
  NonBlocking(engine_);
  output_ = std::move(out.read);
  errors_ = std::move(err.read);
  NonBlocking(output_);
  NonBlocking(errors_);
}

void Program::Signal(int signal) const {
  kill(-pid_, signal);
  if (signal != SIGKILL) kill(-pid_, SIGCONT);  // A stopped process would keep the signal waiting.
}

void KillDescendants(const std::string& spared) {
  // Orphans arrive here only once their parent has died, so one round may uncover the next.
  for (int round = 0; round < 200; ++round) {
    bool any = false;
    for (const pid_t process : ChildrenOf(getpid())) {
      if (!spared.empty() && ExecutableOf(process) == spared) continue;
      any = true;
      kill(process, SIGKILL);
    }
    // A process that ended during the look at /proc may have left an unseen orphan.
    while (waitpid(-1, nullptr, WNOHANG) > 0) any = true;
    if (!any) return;
    poll(nullptr, 0, 5);
  }
}

}  // namespace weir::launcher
