#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

#include "common/threads/fork_generation.h"
#include "common/unique_fd.h"
#include "compression/process/messages.h"

namespace weir {

/// The process beside a rank's program that compresses for it (Shi et al., PipeCompress, ICC 2022).
/// It ends with the program, and with this object.
///
/// Thread-safe: calls take turns.
class CompressionProcess {
 public:
  /// Starts weir-compressor with that many threads; `program` is its path, empty: this
  /// installation's. Throws Error if it cannot be started.
  explicit CompressionProcess(int threads, const std::string& program = {});
  ~CompressionProcess();
  CompressionProcess(const CompressionProcess&) = delete;
  CompressionProcess& operator=(const CompressionProcess&) = delete;

  pid_t pid() const { return pid_; }
  /// False once it is known to have ended. That is for ever, and told once in the log.
  bool alive() const { return alive_; }

  /// Makes a compressor there. Returns its number; nothing if the process has ended, or does not
  /// know such compressors: a program may have registered its own.
  std::optional<std::uint32_t> Open(const Slot& slot, const process::Description& description);
  /// Sends a request that has no reply.
  void Post(const process::Request& request);
  /// Sends one and waits for its reply; nothing if the process has ended.
  std::optional<process::Reply> Call(const process::Request& request);

  /// Throws ShutDown in a process that the program has forked.
  void CheckOwner() const;

 private:
  bool forked() const { return fork_generation_ != ForkGeneration(); }
  /// Ends it. Returns its status, as waitpid does.
  int End();
  /// With the lock held.
  std::optional<process::Reply> Ended();

  pid_t pid_ = -1;
  UniqueFd socket_;
  std::mutex mutex_;
  std::uint32_t opened_ = 0;
  std::atomic<bool> alive_ = true;
  const std::uint64_t fork_generation_ = ForkGeneration();
};

}  // namespace weir
