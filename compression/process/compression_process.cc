#include "compression/process/compression_process.h"

#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <array>
#include <cerrno>
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
  for (const char* folder : {"bin", "../bin", "../../bin", "."}) {
    const std::filesystem::path path = (own / folder / "weir-compressor").lexically_normal();
    if (std::filesystem::exists(path)) return path.string();
  }
  throw Error("there is no weir-compressor in " + own.string() +
              " or in bin beside it: WEIR_PIPELINE=process " + "needs it, thread does not");
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
  socket_.reset();  // It ends then.
  int status = 0;
  if (alive_ && fork_generation_ == ForkGeneration()) waitpid(pid_, &status, 0);
}

std::optional<process::Reply> CompressionProcess::Ended() {
  if (!alive_.exchange(false)) return std::nullopt;
  int status = 0;
  const bool known = waitpid(pid_, &status, 0) == pid_;
  std::string how;
  if (known && WIFSIGNALED(status)) how = " by signal " + std::to_string(WTERMSIG(status));
  if (known && WIFEXITED(status)) how = " with exit code " + std::to_string(WEXITSTATUS(status));
  LogWarning(
      "the compression process (process {}) has ended{}: its work goes on in threads of the "
      "program",
      pid_, how);
  return std::nullopt;
}

std::optional<std::uint32_t> CompressionProcess::Open(const Slot& slot,
                                                      const process::Description& description) {
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
    LogInfo("the compression process does not compress '{}': {}", description.tensor.name,
            reply->error.data());
    return std::nullopt;
  }
  return opened_++;
}

void CompressionProcess::Post(const process::Request& request) {
  std::lock_guard lock(mutex_);
  if (alive_ && fork_generation_ == ForkGeneration() && !process::Send(socket_.get(), request))
    Ended();
}

std::optional<process::Reply> CompressionProcess::Call(const process::Request& request) {
  std::lock_guard lock(mutex_);
  if (!alive_ || !process::Send(socket_.get(), request)) return Ended();
  std::optional<process::Reply> reply = process::ReceiveReply(socket_.get());
  return reply ? reply : Ended();
}

}  // namespace weir
