#include "compression/process/compression_process.h"

#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <system_error>

#include "common/libraries/own_folder.h"
#include "common/log.h"
#include "weir/error.h"

extern char** environ;

namespace weir {
namespace {

std::string OwnProgram() {
  const std::filesystem::path own = OwnFolder();
  std::error_code trouble;
  for (const char* folder : {"bin", "../bin", "../../bin", "."}) {
    const std::filesystem::path path = (own / folder / "weir-compressor").lexically_normal();
    if (!own.empty() && std::filesystem::exists(path, trouble)) return path.string();
  }
  throw Error("there is no weir-compressor in " + own.string() +
              " or in bin beside it: WEIR_PIPELINE=process needs it, thread does not");
}

}  // namespace

CompressionProcess::CompressionProcess(int threads, const std::string& program) {
  const std::string path = program.empty() ? OwnProgram() : program;
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    throw Error("no socket for the compression process: " + std::system_category().message(errno));
  }
  socket_ = UniqueFd(ends[0]);
  const UniqueFd its_end(ends[1]);
  const std::string count = std::to_string(threads);
  std::array<char*, 3> arguments = {const_cast<char*>(path.c_str()),
                                    const_cast<char*>(count.c_str()), nullptr};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, its_end.get(), STDIN_FILENO);
  const int trouble =
      posix_spawn(&pid_, path.c_str(), &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (trouble != 0)
    throw Error("cannot start " + path + ": " + std::system_category().message(trouble));
}

CompressionProcess::~CompressionProcess() {
  if (alive_ && !forked()) End();
}

int CompressionProcess::End() {
  // A process that the program has forked may hold the socket open; and nothing there is to be
  // saved.
  kill(pid_, SIGKILL);
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0) {
    if (errno != EINTR) return 0;
  }
  return status;
}

void CompressionProcess::CheckOwner() const {
  if (forked()) {
    throw ShutDown(
        "the memory of this process's compressors belongs to the process that it was forked from");
  }
}

std::optional<process::Reply> CompressionProcess::Ended() {
  if (!alive_.exchange(false)) return std::nullopt;
  const int status = End();
  std::string how;
  if (WIFSIGNALED(status)) how = " by signal " + std::to_string(WTERMSIG(status));
  if (WIFEXITED(status)) how = " with exit code " + std::to_string(WEXITSTATUS(status));
  LogWarning(
      "the compression process (process {}) has ended{}: its work goes on in threads of the "
      "program",
      pid_, how);
  return std::nullopt;
}

std::optional<std::uint32_t> CompressionProcess::Open(const Slot& slot,
                                                      const process::Description& description) {
  CheckOwner();
  std::lock_guard lock(mutex_);
  if (!alive_) return std::nullopt;
  const process::Request request{
      .ask = process::Ask::kOpen, .tensor = opened_, .size = slot.size()};
  std::optional<process::Reply> reply;
  if (process::SendOpen(socket_.get(), request, slot, description)) {
    reply = process::ReceiveReply(socket_.get());
  }
  if (!reply) {
    Ended();
    return std::nullopt;
  }
  if (!reply->ok) {
    LogWarning("'{}' is compressed in the program, because the compression process refuses it: {}",
               description.tensor.name, reply->error.data());
    return std::nullopt;
  }
  return opened_++;
}

void CompressionProcess::Post(const process::Request& request) {
  if (forked()) return;
  std::lock_guard lock(mutex_);
  if (alive_ && !process::Send(socket_.get(), request)) Ended();
}

std::optional<process::Reply> CompressionProcess::Call(const process::Request& request) {
  CheckOwner();
  std::lock_guard lock(mutex_);
  if (!alive_ || !process::Send(socket_.get(), request)) return Ended();
  std::optional<process::Reply> reply = process::ReceiveReply(socket_.get());
  return reply ? reply : Ended();
}

}  // namespace weir
