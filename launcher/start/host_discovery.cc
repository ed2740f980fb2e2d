#include "launcher/start/host_discovery.h"

#include <fmt/core.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <sstream>
#include <utility>

#include "common/text/parse_number.h"
#include "launcher/start/reach.h"
#include "launcher/start/tether.h"
#include "launcher/text/seconds.h"
#include "launcher/text/wait_status.h"
#include "weir/error.h"
#include "weir/settings.h"

namespace weir::launcher {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::ceil;
using std::chrono::milliseconds;
constexpr std::chrono::seconds kEvery{1};
constexpr std::chrono::seconds kLongest{30};  // Of a run.
constexpr std::size_t kMostOutput = std::size_t{1} << 20;

int SlotsOf(const std::vector<Host>& hosts) {
  std::int64_t slots = 0;
  for (const Host& host : hosts) slots += host.slots;
  return static_cast<int>(std::min<std::int64_t>(slots, std::numeric_limits<int>::max()));
}

/// As Settings will have it, which cannot be read before the hosts are known.
milliseconds StartTimeout(const Options& options) {
  const auto option = options.environment.find("WEIR_START_TIMEOUT");
  const std::string text =
      option == options.environment.end() ? VariableOrEmpty("WEIR_START_TIMEOUT") : option->second;
  return FromSeconds(ParseNumber<double>(text).value_or(Settings{}.start_timeout_seconds));
}

void CheckExecutable(const std::string& script) {
  const bool in_path = script.find('/') == std::string::npos;
  errno = 0;
  if (IsExecutable(in_path ? FindInPath(script) : std::filesystem::path(script))) return;
  const std::string why = in_path      ? "$PATH has none; for one in this folder give ./" + script
                          : errno != 0 ? std::strerror(errno)
                                       : "it is a folder";
  throw InvalidArgument("cannot run the host discovery script '" + script + "': " + why);
}

}  // namespace

std::vector<Host> HostDiscovery::AwaitSlots(int slots, Patience patience) {
  const Time deadline = Clock::now() + patience.hosts;
  for (bool first = true;; first = false) {
    const Time now = Clock::now();
    // A run that begins late still has time to end.
    const auto left = std::max<milliseconds>(kEvery, ceil<milliseconds>(deadline - now));
    Begin(now, std::ranges::min({Limit{kLongest}, Limit{patience.start, "--start-timeout"},
                                 Limit{left, "--elastic-timeout"}},
                                {}, &Limit::time));
    std::vector<Host> hosts = Result(AwaitEnd());
    if (SlotsOf(hosts) >= slots) return hosts;
    if (first) {
      std::fprintf(stderr,
                   "weirrun: %d of %d slots: waiting up to %g s (--elastic-timeout) for hosts\n",
                   SlotsOf(hosts), slots, InSeconds(patience.hosts));
    }
    const auto wait = ceil<milliseconds>(std::min(next_, deadline) - Clock::now());
    poll(nullptr, 0, static_cast<int>(std::max<std::int64_t>(0, wait.count())));
    if (Clock::now() >= deadline) {
      throw InvalidArgument(fmt::format(
          "--host-discovery-script has found {} slots, and --min-np asks for {}, within the "
          "elastic timeout of {} s",
          SlotsOf(hosts), slots, InSeconds(patience.hosts)));
    }
  }
}

int HostDiscovery::AwaitEnd() {
  constexpr int kPatienceMs = 5;  // Between two looks whether it has ended.
  int status = 0;
  while (waitpid(run_->pid(), &status, WNOHANG) == 0) {
    pollfd output = output_poll();
    if (poll(&output, 1, kPatienceMs) > 0) Read();
    EndIfTooLong(Clock::now());
  }
  Read();
  return status;
}

void HostDiscovery::Begin(Time now, Limit limit) {
  CheckExecutable(script_);
  next_ = now + kEvery;
  output_.clear();
  ended_.clear();
  run_limit_ = std::move(limit);
  run_due_ = now + run_limit_.time;
  const Starter::Spec spec{.name = "--host-discovery-script",
                           .command = Tethered({script_}),
                           .input = "\n",
                           .own_stderr = true};
  run_.emplace(spec, limit_);
}

void HostDiscovery::EndIfTooLong(Time now) {
  if (!run_ || !ended_.empty()) return;
  if (now >= run_due_) {
    ended_ = fmt::format("took longer than {} s{}", InSeconds(run_limit_.time),
                         run_limit_.option.empty() ? "" : " (" + run_limit_.option + ")");
  } else if (output_.size() > kMostOutput) {
    ended_ = "wrote more than 1 MiB";
  }
  if (!ended_.empty()) kill(-run_->pid(), SIGKILL);
}

void HostDiscovery::Tick(Time now) {
  EndIfTooLong(now);
  if (run_ || now < next_) return;
  try {
    Begin(now, {kLongest});
  } catch (const InvalidArgument& error) {
    next_ = now + kEvery;
    Report(error.what());
  }
}

HostDiscovery::Time HostDiscovery::due() const {
  return !run_ ? next_ : ended_.empty() ? run_due_ : Time::max();
}

pollfd HostDiscovery::output_poll() const { return {run_ ? run_->output_fd() : -1, POLLIN, 0}; }

void HostDiscovery::Read() {
  for (const std::string& line : run_->ReadLines()) {
    if (output_.size() <= kMostOutput) output_ += line;
  }
}

std::optional<std::vector<Host>> HostDiscovery::OnEnded(pid_t pid, int wait_status) {
  if (!run_ || run_->pid() != pid) return {};
  Read();
  try {
    std::vector<Host> hosts = Result(wait_status);
    reported_.clear();
    knows_hosts_ = !hosts.empty();
    return hosts;
  } catch (const InvalidArgument& error) {
    Report(error.what());
    return {};
  }
}

void HostDiscovery::Report(const std::string& trouble) {
  if (trouble != reported_) {
    std::fprintf(stderr, "weirrun: %s%s\n", trouble.c_str(),
                 knows_hosts_ ? "; going on with the hosts known" : "");
  }
  reported_ = trouble;
}

std::vector<Host> HostDiscovery::Result(int wait_status) {
  run_.reset();
  const std::string name = "the host discovery script '" + script_ + "'";
  if (!ended_.empty()) throw InvalidArgument(name + " " + ended_ + ", and weirrun ended it");
  if (wait_status != 0) {
    throw InvalidArgument(name + " ended with " + DescribeStatus(wait_status));
  }
  std::istringstream lines(output_);
  return ParseHostLines(lines, name + ", line ", slots_);
}

void FindFirstHosts(Options& options) {
  if (options.host_script.empty()) return;
  const FileLimit limit;
  HostDiscovery discovery(options.host_script, options.slots_per_host, limit);
  options.hosts =
      discovery.AwaitSlots(options.elastic->min_ranks,
                           {.start = StartTimeout(options), .hosts = options.elastic->timeout});
  options.hosts_origin = "--host-discovery-script";
  const int slots = SlotsOf(options.hosts);
  if (slots >= options.ranks) return;
  std::fprintf(stderr, "weirrun: --host-discovery-script has found %d of %d slots: starting %s\n",
               slots, options.ranks,
               slots == 1 ? "1 rank" : (std::to_string(slots) + " ranks").c_str());
  options.ranks = slots;
}

}  // namespace weir::launcher
