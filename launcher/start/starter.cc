#include "launcher/start/starter.h"

#include <fcntl.h>
#include <spawn.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <utility>

#include "launcher/start/pipe.h"
#include "weir/error.h"

namespace weir::launcher {
namespace {

/// Writes without the SIGPIPE of a reader that has gone, which weirrun would take for its own end.
ssize_t WriteQuietly(int fd, const std::string& bytes) {
  const ssize_t n = write(fd, bytes.data(), bytes.size());
  if (n >= 0 || errno != EPIPE) return n;
  sigset_t pipe;
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  const timespec now{};
  sigtimedwait(&pipe, nullptr, &now);
  errno = EPIPE;
  return n;
}

/// Splits text into lines, with their ends.
std::vector<std::string> SplitLines(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t begin = 0, end = 0; begin < text.size(); begin = end) {
    end = std::min(text.find('\n', begin), text.size() - 1) + 1;
    lines.push_back(text.substr(begin, end - begin));
  }
  return lines;
}

}  // namespace

Starter::Starter(Spec spec, const FileLimit& limit)
    : spec_(std::move(spec)), stdin_open_(spec_.takes_stdin) {
  pending_.swap(spec_.input);
  const bool has_input = !pending_.empty();
  Pipe out = MakePipe();
  Pipe in = MakePipe();
  NonBlocking(out.read);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, out.write.get(), STDOUT_FILENO);
  if (!spec_.own_stderr) {
    posix_spawn_file_actions_adddup2(&actions, out.write.get(), STDERR_FILENO);
  }
  if (has_input) {
    posix_spawn_file_actions_adddup2(&actions, in.read.get(), STDIN_FILENO);
  }
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
  std::vector<std::string> command = spec_.command;
  std::vector<char*> argv;
  for (std::string& word : command) argv.push_back(word.data());
  argv.push_back(nullptr);
  limit.RestoreUsers();
  const int error = posix_spawnp(&pid_, argv[0], &actions, &attributes, argv.data(), environ);
  limit.Raise();
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (error != 0) {
    throw InvalidArgument("cannot run '" + spec_.command[0] + "': " + std::strerror(error));
  }
  output_ = std::move(out.read);
  if (!has_input) return;
  input_ = std::move(in.write);
  NonBlocking(input_);
  PumpInput();
}

std::vector<std::string> Starter::ReadLines() {
  std::string text;
  std::array<char, 4096> bytes;
  ssize_t n = 0;
  while ((n = read(output_.get(), bytes.data(), bytes.size())) > 0) {
    text += lines_.Append({bytes.data(), static_cast<std::size_t>(n)});
  }
  if (n == 0) {
    output_.reset();
    text += lines_.Finish();
  }
  std::vector<std::string> lines = SplitLines(text);
  for (const std::string& line : lines) {
    const std::size_t end = line.find_last_not_of(" \r\n");
    if (end != std::string::npos) last_line_ = line.substr(0, end + 1);
  }
  return lines;
}

bool Starter::TakesStdinNow() const {
  if (!stdin_open_) return false;
  // Who reads a terminal from the background is stopped.
  return isatty(STDIN_FILENO) == 0 || tcgetpgrp(STDIN_FILENO) == getpgrp();
}

pollfd Starter::input_poll() const {
  if (!input_) return {-1, 0, 0};
  if (!pending_.empty()) return {input_.get(), POLLOUT, 0};
  return {TakesStdinNow() ? STDIN_FILENO : -1, POLLIN, 0};
}

void Starter::PumpInput() {
  if (pending_.empty() && TakesStdinNow()) {
    std::array<char, 65536> bytes;
    const ssize_t n = read(STDIN_FILENO, bytes.data(), bytes.size());
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) return;
    stdin_open_ = n > 0;
    if (n > 0) pending_.assign(bytes.data(), static_cast<std::size_t>(n));
  }
  while (!pending_.empty()) {
    const ssize_t n = WriteQuietly(input_.get(), pending_);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return;
    if (n < 0) return input_.reset();
    pending_.erase(0, static_cast<std::size_t>(n));
  }
  if (!stdin_open_) input_.reset();
}

}  // namespace weir::launcher
