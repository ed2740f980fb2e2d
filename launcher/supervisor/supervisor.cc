#include "launcher/supervisor/supervisor.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <array>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdlib>

#include "common/supervision/heartbeat.h"
#include "common/text/parse_number.h"
#include "launcher/job/start_trouble.h"
#include "launcher/start/inherited_listeners.h"
#include "launcher/start/rank_environment.h"
#include "launcher/supervisor/process_table.h"
#include "launcher/supervisor/way_to_weirrun.h"
#include "weir/error.h"

namespace weir::launcher {
namespace {

using std::chrono::milliseconds;
using supervision::Message;
using supervision::MessageType;

constexpr milliseconds kKillAfter{1000};
// After MPI_Abort Hydra ends all ranks. The one that called it gets time to exit by
// itself, with the code that it chose.
constexpr milliseconds kAnchorGrace{200};
constexpr milliseconds kDrainTime{1000};
constexpr std::size_t kMaxEngineQueue = 1024;

std::string Take(const char* variable) {
  const char* value = std::getenv(variable);
  if (value == nullptr) {
    throw InvalidArgument(std::string("--supervise is how weirrun starts ranks; ") + variable +
                          " is not set");
  }
  std::string result = value;
  unsetenv(variable);
  return result;
}

UniqueFd WatchChildren() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGCHLD);
  sigprocmask(SIG_BLOCK, &set, nullptr);
  return UniqueFd(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
}

}  // namespace

SupervisorConfig SupervisorConfig::FromEnvironment(std::vector<std::string> command) {
  SupervisorConfig config;
  config.addresses = Take(supervision::kAddressesVariable);
  config.token = Take(supervision::kTokenVariable);
  const std::string grace = Take(supervision::kGraceVariable);
  config.grace = GraceFromText(grace);
  config.place = PlaceFromHydra();
  config.command = std::move(command);
  return config;
}

milliseconds GraceFromText(const std::string& seconds) {
  const auto number = ParseNumber<double>(seconds);
  if (number) return milliseconds(std::lround(*number * 1000));
  throw InvalidArgument("the grace period '" + seconds + "' is not a number of seconds");
}

Supervisor::Supervisor(SupervisorConfig config, UniqueFd anchor)
    : config_(std::move(config)),
      anchor_(std::move(anchor)),
      signals_(WatchChildren()),
      launcher_(
          ReachWeirrun(config_.addresses, config_.token, config_.place.rank, MessageType::kHello)),
      output_(ReachWeirrun(config_.addresses, config_.token, config_.place.rank,
                           MessageType::kOutputHello)),
      next_heartbeat_(Clock::now()),
      last_heard_(Clock::now()) {
  prctl(PR_SET_CHILD_SUBREAPER, 1);
}

void Supervisor::Run() {
  OnLauncher();  // What has come together with weirrun's proof.
  while (!over()) {
    Wait();
    OnTime(Clock::now());
  }
  CleanUp();
}

void Supervisor::Wait() {
  const short launcher_events = launcher_.queued() > 0 ? POLLIN | POLLOUT : POLLIN;
  const short engine_events = engine_queue_.empty() ? POLLIN : POLLIN | POLLOUT;
  std::array<pollfd, 8> fds = {{
      {launcher_lost_ ? -1 : launcher_.fd(), launcher_events, 0},
      {engine_open_ ? program_->engine().get() : -1, engine_events, 0},
      {anchor_.get(), POLLIN, 0},
      {signals_.get(), POLLIN, 0},
      {sweeper_.fd(), POLLIN, 0},
      {output_.output_fd(), POLLIN, 0},
      {output_.errors_fd(), POLLIN, 0},
      {output_.wants_write() ? output_.connection_fd() : -1, POLLOUT, 0},
  }};
  int timeout = -1;
  if (const auto deadline = Deadline()) {
    timeout = static_cast<int>(std::max<milliseconds::rep>(
        0, std::chrono::ceil<milliseconds>(*deadline - Clock::now()).count()));
  }
  if (poll(fds.data(), fds.size(), timeout) < 0) return;
  if (fds[0].revents != 0) OnLauncher();
  if (fds[1].revents != 0) OnEngine();
  if (fds[2].revents != 0) OnAnchor();
  if (fds[3].revents != 0) OnChildren();
  if (fds[4].revents != 0) LookAtSharedMemory();
  if (fds[5].revents != 0 || fds[6].revents != 0 || fds[7].revents != 0) output_.Pump();
}

std::optional<Supervisor::Time> Supervisor::Deadline() const {
  std::optional<Time> deadline = sweeper_.next_look();
  const auto include = [&](Time time) { deadline = std::min(deadline.value_or(time), time); };
  if (!launcher_lost_) include(next_heartbeat_);
  if (ending_) include(ending_due_);
  return deadline;
}

void Supervisor::OnTime(Time now) {
  if (sweeper_.next_look() && now >= *sweeper_.next_look()) LookAtSharedMemory();
  if (!launcher_lost_ && now >= next_heartbeat_) {
    launcher_.Send(Heartbeat());
    next_heartbeat_ = now + supervision::kHeartbeatEvery;
  }
  if (!launcher_lost_ && (!launcher_.open() || now > last_heard_ + supervision::kSilence)) {
    launcher_lost_ = true;
    TellEngine(
        {.type = MessageType::kLauncherLost,
         .text = launcher_.open() ? "it says nothing any more" : "it ended before its ranks"});
    BeginEnding(config_.grace);
  }
  if (ending_ && now >= ending_due_ && running_) {
    const bool first = *ending_ == Ending::kWaiting;
    stopping_ = true;
    program_->Signal(first ? SIGTERM : SIGKILL);
    ending_ = first ? Ending::kTerminated : Ending::kKilled;
    ending_due_ = now + kKillAfter;
  }
}

Message Supervisor::Heartbeat() {
  if (!running_ || left_ || !missed_pulses_) return {.type = MessageType::kHeartbeat};
  Message heartbeat{.type = MessageType::kHeartbeat, .code = (*missed_pulses_)++};
  if (heartbeat.code > 1) heartbeat.text = HaltOf(program_->pid());
  return heartbeat;
}

void Supervisor::LookAtSharedMemory() {
  sweeper_.Look(program_ ? program_->pid() : getpid(), Clock::now());
}

void Supervisor::OnLauncher() {
  launcher_.Flush();
  for (const Message& message : launcher_.Receive()) OnMessage(message);
}

void Supervisor::OnMessage(const Message& message) {
  last_heard_ = Clock::now();
  switch (message.type) {
    case MessageType::kWelcome:
      Start();
      break;
    case MessageType::kTerminate:
    case MessageType::kKill:
      stopping_ = true;
      if (running_) program_->Signal(message.type == MessageType::kKill ? SIGKILL : SIGTERM);
      break;
    case MessageType::kFinish:
      finish_ = true;
      break;
    case MessageType::kPlace:
    case MessageType::kHostsUpdated:
    case MessageType::kAddresses:
    case MessageType::kFinalize:
    case MessageType::kPeerLost:
    case MessageType::kAbort:
      TellEngine(message);
      break;
    case MessageType::kRecordFlight:
    case MessageType::kStatusRequest:
    case MessageType::kStatus:
      if (!left_) TellEngine(message);
      break;
    default:
      break;
  }
}

void Supervisor::OnEngine() {
  FlushEngine();
  std::string packet(supervision::kMaxFrame, '\0');
  const ssize_t n = recv(program_->engine().get(), packet.data(), packet.size(), MSG_DONTWAIT);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (n <= 0) {
    engine_open_ = false;
    return;
  }
  try {
    const std::string_view received = packet;
    const Message message = supervision::Decode(received.substr(0, static_cast<std::size_t>(n)));
    switch (message.type) {
      case MessageType::kPulse:
        missed_pulses_ = message.code == 1 ? std::optional(0) : std::nullopt;
        break;
      case MessageType::kAttach:
      case MessageType::kLeave:
        left_ = message.type == MessageType::kLeave;
        [[fallthrough]];
      case MessageType::kAddress:
      case MessageType::kJoined:
      case MessageType::kReady:
      case MessageType::kFinalizing:
      case MessageType::kAbort:
      case MessageType::kStatusRequest:
      case MessageType::kStatus:
      case MessageType::kTotals:
      case MessageType::kUnheard:
        launcher_.Send(message);
        break;
      default:
        break;
    }
  } catch (const Corrupt&) {
    // The other end is not an engine, and must not wait for an answer.
    engine_open_ = false;
    shutdown(program_->engine().get(), SHUT_RDWR);
  }
}

void Supervisor::OnAnchor() {
  anchor_.reset();
  BeginEnding(kAnchorGrace);
}

void Supervisor::OnChildren() {
  signalfd_siginfo ignored;
  while (read(signals_.get(), &ignored, sizeof ignored) > 0) {
  }
  int status = 0;
  for (pid_t pid = 0; (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
    if (!program_ || pid != program_->pid()) continue;  // An orphan of the program.
    // Its last messages, "I leave" above all, come before its end.
    while (engine_open_ && recv(program_->engine().get(), nullptr, 0, MSG_PEEK | MSG_TRUNC) > 0) {
      OnEngine();
    }
    running_ = false;
    launcher_.Send({.type = stopping_ ? MessageType::kStopped : MessageType::kExited,
                    .rank = config_.place.rank,
                    .code = status});
  }
}

void Supervisor::Start() {
  if (program_) return;
  const UniqueFd null(open("/dev/null", O_RDWR | O_CLOEXEC));
  // Hydra forwards its own stdin to rank 0; the others would wait for an end that never comes.
  if (config_.place.rank != 0) dup2(null.get(), STDIN_FILENO);
  try {
    program_.emplace(config_.command);
  } catch (const InvalidArgument& error) {
    launcher_.Send({.type = MessageType::kExited,
                    .rank = config_.place.rank,
                    .code = 127 << 8,
                    .text = error.what()});
    return;
  }
  running_ = engine_open_ = true;
  output_.Attach(program_->TakeOutput(), program_->TakeErrors());
  // Only the program reads what Hydra forwards, and all output goes through weirrun.
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(null.get(), fd);
}

void Supervisor::TellEngine(const Message& message) {
  if (!engine_open_ || engine_queue_.size() >= kMaxEngineQueue) return;
  engine_queue_.push_back(Encode(message));
  FlushEngine();
}

void Supervisor::FlushEngine() {
  while (!engine_queue_.empty()) {
    const std::string& packet = engine_queue_.front();
    const int flags = MSG_DONTWAIT | MSG_NOSIGNAL;
    if (send(program_->engine().get(), packet.data(), packet.size(), flags) < 0) {
      if (errno != EAGAIN && errno != EINTR) engine_queue_.clear();
      return;
    }
    engine_queue_.pop_front();
  }
}

void Supervisor::BeginEnding(milliseconds delay) {
  if (ending_) return;
  ending_ = Ending::kWaiting;
  ending_due_ = Clock::now() + delay;
}

void Supervisor::CleanUp() {
  // Processes it left running are descendants too. Not by the program's process group: that number
  // may belong to another group once the program has been waited for.
  KillDescendants();
  const Time until = Clock::now() + kDrainTime;
  for (output_.Pump(); !output_.done() && Clock::now() < until; output_.Pump()) {
    pollfd wait{output_.connection_fd(), POLLOUT, 0};
    poll(&wait, 1, 10);
  }
  sweeper_.Sweep();
  launcher_.Flush();
}

bool Supervise(const SupervisorConfig& config, UniqueFd anchor) {
  try {
    SetPlace(config.place);
    Supervisor(config, std::move(anchor)).Run();
    return true;
  } catch (const Error& error) {
    const StartTrouble trouble{.rank = config.place.rank, .why = error.what()};
    std::fprintf(stderr, "%s\n", TroubleLine(trouble).c_str());
    return false;
  }
}

int RunSupervisorOfHydra(std::vector<std::string> command) {
  // Hydra ends a rank by SIGKILL to the session that it made for it (MPI_Abort, a lost mpiexec). So
  // the process that Hydra knows is only an anchor. The supervisor lives in a session of its own,
  // notices the anchor's end, and still cleans up. Both keep Hydra's PMI socket open: if it closed
  // with the program, Hydra would end the survivors at once.
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return 1;
  UniqueFd anchor_end(ends[0]);
  UniqueFd supervisor_end(ends[1]);
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGUSR1, SIG_IGN);  // Meant for weirrun, which has the same name.
  const pid_t supervisor = fork();
  if (supervisor < 0) return 1;
  if (supervisor > 0) {
    supervisor_end.reset();
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) std::signal(signal, SIG_IGN);
    char done = 0;
    const bool finished = read(anchor_end.get(), &done, 1) == 1;
    waitpid(supervisor, nullptr, 0);
    return finished ? 0 : 1;
  }
  anchor_end.reset();
  setsid();
  const int to_anchor = dup(supervisor_end.get());
  fcntl(to_anchor, F_SETFD, FD_CLOEXEC);
  try {
    const SupervisorConfig config = SupervisorConfig::FromEnvironment(std::move(command));
    if (config.place.local_size == config.place.size) KeepOtherHostsFromInheritedListeners();
    if (!Supervise(config, std::move(supervisor_end))) _exit(1);
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", TroubleLine({.rank = -1, .why = error.what()}).c_str());
    _exit(1);
  }
  [[maybe_unused]] const ssize_t n = send(to_anchor, "d", 1, MSG_NOSIGNAL);
  _exit(0);
}

}  // namespace weir::launcher
