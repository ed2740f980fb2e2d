#pragma once

#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/supervision/message_socket.h"
#include "common/supervision/supervision.h"
#include "common/unique_fd.h"
#include "launcher/output/output_pump.h"
#include "launcher/start/rank_environment.h"
#include "launcher/supervisor/program.h"
#include "launcher/supervisor/shared_memory_sweeper.h"

namespace weir::launcher {

/// Values for the supervisor of one rank.
struct SupervisorConfig {
  RankPlace place;
  std::string addresses;  ///< Addresses of weirrun.
  std::string token;
  std::chrono::milliseconds grace{3000};
  std::vector<std::string> command;

  /// Reads the variables that weirrun and Hydra have set and removes weirrun's, so that the program
  /// does not see the token. Throws InvalidArgument when they are missing.
  static SupervisorConfig FromEnvironment(std::vector<std::string> command);
};

/// Reads the seconds that weirrun writes. Throws InvalidArgument.
std::chrono::milliseconds GraceFromText(const std::string& seconds);

/// Runs one rank and outlives it: starts the program, reports how it ends, carries heartbeats and
/// the engine's messages, and leaves nothing behind. One thread, one loop, nothing blocks.
class Supervisor {
 public:
  using Clock = std::chrono::steady_clock;
  using Time = Clock::time_point;

  /// Connects to weirrun. `anchor` closes when who has started this rank ends it. Throws
  /// InvalidArgument.
  Supervisor(SupervisorConfig config, UniqueFd anchor);

  /// Returns when the rank is over and cleaned up.
  void Run();

 private:
  void Wait();
  std::optional<Time> Deadline() const;
  void OnTime(Time now);
  void OnLauncher();
  void OnMessage(const supervision::Message& message);
  void OnEngine();
  void OnAnchor();
  void LookAtSharedMemory();
  void OnChildren();
  void Start();
  supervision::Message Heartbeat();
  void TellEngine(const supervision::Message& message);
  void FlushEngine();
  void BeginEnding(std::chrono::milliseconds delay);
  bool over() const { return finish_ || (ending_ && !running_); }
  void CleanUp();

  SupervisorConfig config_;
  UniqueFd anchor_;
  UniqueFd signals_;
  supervision::MessageSocket launcher_;
  OutputPump output_;
  SharedMemorySweeper sweeper_;
  std::optional<Program> program_;
  std::deque<std::string> engine_queue_;  // Packets that the engine's socket did not take yet.
  bool engine_open_ = false;
  bool left_ = false;  // Nobody reads a status request any more.
  // Heartbeats since the last pulse of an engine that promised another one. Counted, not timed:
  // where this process was stopped, too, nothing was missed.
  std::optional<int> missed_pulses_;
  bool running_ = false;
  bool stopping_ = false;  // We cause its end.
  bool finish_ = false;
  bool launcher_lost_ = false;
  Time next_heartbeat_;
  Time last_heard_;

  // Ending the program without a message from weirrun: SIGTERM when it is due, then SIGKILL.
  enum class Ending { kWaiting, kTerminated, kKilled };
  std::optional<Ending> ending_;
  Time ending_due_;
};

/// Supervises one rank in this process, to its end. False, after a line about it on stderr, if that
/// could not begin.
bool Supervise(const SupervisorConfig& config, UniqueFd anchor);

/// `weirrun --supervise -- command`, which Hydra starts in place of the program. Returns the exit
/// code of the process that Hydra knows.
int RunSupervisorOfHydra(std::vector<std::string> command);

}  // namespace weir::launcher
