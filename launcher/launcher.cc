#include "launcher/launcher.h"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>

#include "common/settings/flight_filename.h"
#include "common/summary/summary.h"
#include "common/supervision/heartbeat.h"
#include "common/supervision/random_token.h"
#include "common/supervision/tcp.h"
#include "launcher/job/elastic_job.h"
#include "launcher/job/fixed_job.h"
#include "launcher/job/start_trouble.h"
#include "launcher/start/parent.h"
#include "launcher/start/reach.h"
#include "launcher/start/starters.h"
#include "launcher/supervisor/program.h"
#include "launcher/text/seconds.h"
#include "launcher/text/shell_words.h"
#include "launcher/text/wait_status.h"
#include "weir/error.h"

namespace weir::launcher {
namespace {

using std::chrono::milliseconds;
using supervision::Message;
using supervision::MessageType;

// Supervisors kill the rest, pass on the last output and clean up, each within a second.
constexpr milliseconds kFinishTime{2500};
constexpr milliseconds kOutputPatience{1000};
constexpr std::size_t kMaxStrangers = 1024;

UniqueFd WatchSignals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGUSR1, SIGCHLD})
    sigaddset(&set, signal);
  sigprocmask(SIG_BLOCK, &set, nullptr);
  std::signal(SIGTSTP, SIG_IGN);  // A stopped weirrun would look like a lost one.
  return UniqueFd(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
}

}  // namespace

Launcher::Launcher(const Options& options, const Settings& settings)
    : options_(options),
      places_(PlaceProcesses(options.hosts, options.ranks, options.servers), options.servers),
      settings_(settings),
      contact_{.token = supervision::RandomToken()},
      door_(supervision::Secret::OfWeirrun(contact_.token), kMaxStrangers,
            [](const std::string& text) { std::fprintf(stderr, "weirrun: %s\n", text.c_str()); }),
      flight_filename_(settings.flight_filename),
      listener_(supervision::Listen(ListenAddress(options))),
      peers_(static_cast<std::size_t>(options.processes())),
      awaited_(2 * options.processes()),
      totals_(static_cast<std::size_t>(options.processes())) {
  Prepare(settings);
  signals_ = WatchSignals();
  EndWithParent();
  output_ = std::make_unique<OutputCollector>(options_.output, options_.processes());
  prctl(PR_SET_CHILD_SUBREAPER, 1);  // Orphans of who starts the ranks come here.
  contact_.addresses = ContactAddresses(options_, supervision::PortOf(listener_));
  contact_.grace_seconds = std::to_string(InSeconds(options_.policy.grace));
  Start(PlanStarters(options_, settings_, contact_));
  next_heartbeat_ = Clock::now();
  MakeJob();
}

void Launcher::MakeJob() {
  const auto send = [this](int process, const Message& message) { Send(process, message); };
  if (!options_.elastic) {
    job_ = std::make_unique<FixedJob>(places_, options_.policy, Clock::now(), send);
    return;
  }
  job_ = std::make_unique<ElasticJob>(
      options_.hosts, PlaceProcesses(options_.hosts, options_.ranks), options_.policy,
      *options_.elastic, Clock::now(), send,
      [this](const std::string& host, int count) { StartMore(host, count); },
      [](const std::string& text) { std::fprintf(stderr, "weirrun: %s\n", text.c_str()); });
  if (!options_.host_script.empty()) {
    discovery_.emplace(options_.host_script, options_.slots_per_host, file_limit_);
  }
}

void Launcher::Prepare(const Settings& settings) {
  options_.policy.start_timeout = FromSeconds(settings.start_timeout_seconds);
  options_.policy.heartbeat_timeout = FromSeconds(settings.heartbeat_timeout_seconds);
  if (options_.summary_filename.empty()) return;
  if (!settings.summary) {
    throw InvalidArgument(
        "--summary-filename asks for the summary that --no-summary, its line of the config file or "
        "WEIR_SUMMARY has turned off; give one of them");
  }
  summary_file_.emplace(options_.summary_filename);
}

void Launcher::Start(std::vector<Starter::Spec> specs) {
  for (Starter::Spec& spec : specs) {
    if (options_.verbose) std::fprintf(stderr, "%s\n", ShellWords(spec.command).c_str());
    starters_.emplace_back(std::move(spec), file_limit_);
  }
}

void Launcher::StartMore(const std::string& host, int count) {
  std::vector<std::string> hosts(peers_.size());
  hosts.resize(hosts.size() + static_cast<std::size_t>(count), host);
  for (int i = 0; i < count; ++i) places_.Add(host);
  peers_.resize(hosts.size());
  totals_.Grow(hosts.size());
  awaited_ += 2 * count;
  const int first = static_cast<int>(peers_.size()) - count;
  try {
    Start(PlanMore(options_, settings_, contact_, std::move(hosts)));
  } catch (const InvalidArgument& error) {
    for (int i = 0; i < count; ++i) {
      job_->OnStartTrouble({.rank = first + i, .why = error.what()});
    }
  }
}

bool Launcher::StartersHaveEnded() const { return std::ranges::all_of(starters_, &Starter::ended); }

int Launcher::Run() {
  while (!Done()) {
    Wait();
    OnTime(Clock::now());
  }
  door_.SumUp();
  const bool output_written = output_->Finish(kOutputPatience);
  // An ssh that waits for a host that does not answer does so for minutes. Supervisors end by
  // themselves, and clean up.
  KillDescendants(OwnPath());
  const bool all_written = SumUp() && output_written;
  if (job_->exit_code() != 0) {
    std::fprintf(stderr, "weirrun: %s; ended the job (exit code %d)\n", job_->verdict().c_str(),
                 job_->exit_code());
  }
  // A job that did well, but whose results went nowhere, failed.
  return job_->exit_code() == 0 && !all_written ? 1 : job_->exit_code();
}

bool Launcher::SumUp() {
  places_.SetRanks(job_->ranks());
  const std::optional<ElasticTotals> elastic =
      options_.elastic ? std::optional(totals_.Elastic()) : std::nullopt;
  std::optional<Summary> summary = Summarize(totals_.All(), places_, elastic ? &*elastic : nullptr);
  if (!summary) {
    if (summary_file_) {
      summary_file_->Remove();
      std::fprintf(stderr, "weirrun: no %s: no rank has taken a step of Weir's\n",
                   summary_file_->path().c_str());
    }
    return true;
  }
  summary->turned_away = door_.turned_away();
  for (const std::string& line : SummaryLines(*summary)) {
    std::fprintf(stderr, "weirrun: %s", line.c_str());
  }
  if (!summary_file_) return true;
  const int error = summary_file_->Write(SummaryJson(*summary, job_->exit_code()));
  if (error != 0) {
    std::fprintf(stderr, "weirrun: cannot write %s: %s\n", summary_file_->path().c_str(),
                 std::strerror(error));
  }
  return error == 0;
}

void Launcher::Wait() {
  enum : std::size_t { kSignals, kListener, kFixed };
  std::vector<pollfd> fds = {{signals_.get(), POLLIN, 0}, {listener_.get(), POLLIN, 0}};
  door_.AddPolls(fds);
  const std::size_t first_peer = fds.size();
  for (const auto& peer : peers_) {
    const short events = peer && peer->socket.queued() > 0 ? POLLIN | POLLOUT : POLLIN;
    fds.push_back({peer ? peer->socket.fd() : -1, events, 0});
  }
  const std::size_t first_starter = fds.size();
  for (const Starter& starter : starters_) {
    fds.push_back({starter.output_fd(), POLLIN, 0});
    fds.push_back(starter.input_poll());
  }
  fds.push_back(discovery_ ? discovery_->output_poll() : pollfd{-1, 0, 0});
  if (poll(fds.data(), fds.size(), Timeout()) < 0) return;
  // Handling one of these may add peers and starters, behind those that were polled.
  const std::size_t peers = peers_.size(), starters = starters_.size();
  if (fds.back().revents != 0) discovery_->Read();
  for (std::size_t rank = 0; rank < peers; ++rank) {
    if (fds[first_peer + rank].revents != 0) OnPeer(static_cast<int>(rank));
  }
  const auto strangers = std::span(fds).subspan(kFixed, first_peer - kFixed);
  for (auto& guest : door_.Introduce(strangers, Clock::now())) Welcome(std::move(guest));
  for (std::size_t i = 0; i < starters; ++i) {
    if (fds[first_starter + 2 * i].revents != 0) OnOutputOf(starters_[i]);
    if (fds[first_starter + 2 * i + 1].revents != 0) starters_[i].PumpInput();
  }
  if (fds[kListener].revents != 0) OnNewConnections();
  if (fds[kSignals].revents != 0) OnSignals();
}

int Launcher::Timeout() const {
  Time next = next_heartbeat_;
  if (const auto deadline = job_->deadline()) next = std::min(next, *deadline);
  if (finishing_until_) next = std::min(next, *finishing_until_);
  if (discovery_) next = std::min(next, discovery_->due());
  return static_cast<int>(
      std::max<milliseconds::rep>(0, std::chrono::ceil<milliseconds>(next - Clock::now()).count()));
}

void Launcher::OnTime(Time now) {
  job_->Tick(now);
  if (discovery_ && !job_->ending() && !job_->over()) discovery_->Tick(now);
  for (std::size_t rank = 0; rank < peers_.size(); ++rank) {
    if (peers_[rank] && now > peers_[rank]->last_heard + supervision::kSilence) {
      peers_[rank].reset();
      job_->OnSupervisorLost(static_cast<int>(rank), supervision::SilenceText("its host"), now);
    }
  }
  if (now >= next_heartbeat_) {
    for (int rank = 0; rank < static_cast<int>(peers_.size()); ++rank) {
      Send(rank, {.type = MessageType::kHeartbeat});
    }
    door_.Tick(now);
    next_heartbeat_ = now + supervision::kHeartbeatEvery;
  }
  if (job_->over()) FinishRanks(now);
}

void Launcher::FinishRanks(Time now) {
  if (!finishing_until_) {
    for (int rank = 0; rank < static_cast<int>(peers_.size()); ++rank) {
      Send(rank, {.type = MessageType::kFinish});
    }
    const bool nobody = std::ranges::none_of(peers_, [](const auto& p) { return p != nullptr; });
    finishing_until_ = nobody ? now : now + kFinishTime;
  }
  if (now < *finishing_until_) return;
  // First as asked, then by force; supervisors notice and clean up by themselves.
  for (auto& peer : peers_) peer.reset();
  for (const int signal : {SIGTERM, SIGKILL}) {
    if (StartersHaveEnded()) break;
    for (const Starter& starter : starters_) {
      if (!starter.ended()) kill(-starter.pid(), signal);
    }
    if (signal == SIGTERM) poll(nullptr, 0, 100);
  }
  finishing_until_ = now + kFinishTime;
}

bool Launcher::Done() const {
  return finishing_until_ && StartersHaveEnded() &&
         std::ranges::none_of(peers_, [](const auto& peer) { return peer != nullptr; });
}

void Launcher::OnSignals() {
  signalfd_siginfo info;
  while (read(signals_.get(), &info, sizeof info) == sizeof info) {
    const int signal = static_cast<int>(info.ssi_signo);
    if (signal == SIGUSR1) {
      OnRecordFlights();
      continue;
    }
    if (signal != SIGCHLD) {
      job_->OnInterrupt(signal, Clock::now());
      continue;
    }
    int status = 0;
    for (pid_t pid = 0; (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
      if (const auto hosts = discovery_ ? discovery_->OnEnded(pid, status) : std::nullopt) {
        job_->OnHosts(*hosts, Clock::now());
      }
      const auto start = std::ranges::find_if(
          starters_, [pid](const Starter& one) { return one.pid() == pid && !one.ended(); });
      if (start != starters_.end()) OnStarterEnded(*start, status);  // Otherwise an orphan.
    }
  }
}

void Launcher::OnRecordFlights() {
  if (!KeepsFlightRecordings(flight_filename_)) {
    std::fputs("weirrun: no flight recordings: --flight-recording none keeps nothing\n", stderr);
    return;
  }
  const std::string asked = job_->RecordFlights();
  if (asked.empty()) {
    std::fputs("weirrun: no flight recordings: no rank has joined (init() or Engine::Create)\n",
               stderr);
    return;
  }
  std::fprintf(stderr,
               "weirrun: %s write%s flight recordings; where they are started, weir-flight %s "
               "explains them\n",
               asked.c_str(), asked.find_first_of(",-") == std::string::npos ? "s" : "",
               flight_filename_.c_str());
}

void Launcher::OnOutputOf(Starter& starter) {
  for (const std::string& line : starter.ReadLines()) {
    const auto trouble = ParseTrouble(line);
    if (trouble) job_->OnStartTrouble(*trouble);
    // Hydra's messages about a job that is being ended are confusing; weirrun's are better. The
    // same holds when a rank has left without MPI's finalisation, which is no failure. A trouble is
    // part of weirrun's own message.
    if (options_.verbose || !(trouble || job_->ending() || job_->over()))
      std::fputs(line.c_str(), stderr);
  }
}

void Launcher::OnStarterEnded(Starter& starter, int wait_status) {
  OnOutputOf(starter);
  starter.SetEnded();
  const Starter::Spec& spec = starter.spec();
  if (!spec.host.empty() && wait_status != 0) {
    const std::string& last = starter.last_line();
    job_->OnStartTrouble({.host = spec.host,
                          .why = spec.name + " ended with " + DescribeStatus(wait_status) +
                                 (last.empty() ? "" : ": " + last)});
  }
  job_->OnStarterEnded(spec.name, spec.ranks, spec.advice, wait_status, Clock::now());
}

void Launcher::OnNewConnections() {
  const int error = door_.Accept(listener_, Clock::now());
  if (error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM) {
    OnAcceptFailed(error);
  }
}

void Launcher::OnAcceptFailed(int error) {
  // The connection stays waiting, so that listening on would keep a core busy and never succeed.
  listener_.reset();
  if (awaited_ == 0) return;
  const std::string advice =
      error == EMFILE ? "; raise the hard limit on open files (ulimit -Hn), which has to be more "
                        "than two for each rank"
                      : "";
  job_->OnLauncherFailed("cannot take the connection of a rank's supervisor: " +
                             std::string(std::strerror(error)) + advice,
                         Clock::now());
}

void Launcher::Welcome(supervision::Doorkeeper::Guest guest) {
  const Message& hello = guest.hello;
  if (hello.rank < 0 || std::cmp_greater_equal(hello.rank, peers_.size())) return;
  auto& peer = peers_[static_cast<std::size_t>(hello.rank)];
  if (hello.type == MessageType::kOutputHello) {
    --awaited_;
    output_->Add(hello.rank, std::move(guest.socket));
  } else if (!peer) {
    --awaited_;
    peer = std::make_unique<Peer>(Peer{std::move(guest.socket), Clock::now()});
    job_->OnMessage(hello.rank, hello, Clock::now());
  }
}

void Launcher::OnPeer(int rank) {
  auto& peer = peers_[static_cast<std::size_t>(rank)];
  peer->socket.Flush();
  for (const Message& message : peer->socket.Receive()) {
    peer->last_heard = Clock::now();
    OnMessage(rank, message);
  }
  if (!peer->socket.open()) {
    peer.reset();
    job_->OnSupervisorLost(rank, "the connection to its supervisor broke", Clock::now());
  }
}

void Launcher::OnMessage(int rank, const Message& message) {
  if (message.type == MessageType::kAttach) totals_.OnAttach(rank);
  if (message.type == MessageType::kTotals) totals_.OnTotals(rank, message.text);
  job_->OnMessage(rank, message, Clock::now());
}

void Launcher::Send(int rank, const Message& message) {
  if (message.type == MessageType::kPlace) totals_.OnPlace(rank, message.code);
  if (const auto& peer = peers_[static_cast<std::size_t>(rank)]) peer->socket.Send(message);
}

}  // namespace weir::launcher
