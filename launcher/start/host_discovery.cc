#include "launcher/start/host_discovery.h"

#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <utility>

#include "launcher/hosts/discovery.h"
#include "launcher/text/wait_status.h"
#include "weir/error.h"

namespace weir::launcher {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::seconds kEvery{1};
constexpr std::chrono::seconds kLongest{30};  // Of a run.

int SlotsOf(const std::vector<Host>& hosts) {
  int slots = 0;
  for (const Host& host : hosts) slots += host.slots;
  return slots;
}

}  // namespace

std::vector<Host> HostDiscovery::AwaitSlots(int slots, std::chrono::milliseconds timeout) {
  const Time deadline = Clock::now() + timeout;
  while (true) {
    Tick(Clock::now());
    if (!run_) throw InvalidArgument(reported_);
    pollfd output = output_poll();
    while (output.fd >= 0) {
      if (poll(&output, 1, 1000) > 0) Read();
      Tick(Clock::now());
      output = output_poll();
    }
    int status = 0;
    while (waitpid(run_->pid(), &status, 0) < 0 && errno == EINTR) {
    }
    std::vector<Host> hosts = Result(status);
    if (SlotsOf(hosts) >= slots) return hosts;
    if (Clock::now() >= deadline) {
      throw InvalidArgument("--host-discovery-script has found " + std::to_string(SlotsOf(hosts)) +
                            " slots, and --min-np asks for " + std::to_string(slots) +
                            ", within the elastic timeout");
    }
    const auto wait = std::chrono::ceil<std::chrono::milliseconds>(next_ - Clock::now()).count();
    poll(nullptr, 0, static_cast<int>(std::max<std::int64_t>(0, wait)));
  }
}

void HostDiscovery::Tick(Time now) {
  if (run_ && now > began_ + kLongest) kill(-run_->pid(), SIGKILL);
  if (run_ || now < next_) return;
  next_ = now + kEvery;
  lines_.clear();
  began_ = now;
  const Starter::Spec spec{
      .name = "--host-discovery-script", .command = {script_}, .input = "\n", .own_stderr = true};
  try {
    run_.emplace(spec, limit_);
  } catch (const InvalidArgument& error) {
    Report(error.what());
  }
}

HostDiscovery::Time HostDiscovery::due() const { return run_ ? began_ + kLongest : next_; }

pollfd HostDiscovery::output_poll() const { return {run_ ? run_->output_fd() : -1, POLLIN, 0}; }

void HostDiscovery::Read() {
  for (std::string& line : run_->ReadLines()) lines_.push_back(std::move(line));
}

std::optional<std::vector<Host>> HostDiscovery::OnEnded(pid_t pid, int wait_status) {
  if (!run_ || run_->pid() != pid) return {};
  Read();
  try {
    std::vector<Host> hosts = Result(wait_status);
    reported_.clear();
    return hosts;
  } catch (const InvalidArgument& error) {
    Report(error.what());
    return {};
  }
}

void HostDiscovery::Report(const std::string& trouble) {
  if (trouble != reported_) {
    std::fprintf(stderr, "weirrun: %s; going on with the hosts known\n", trouble.c_str());
  }
  reported_ = trouble;
}

void FindFirstHosts(Options& options) {
  if (options.host_script.empty()) return;
  const FileLimit limit;
  HostDiscovery discovery(options.host_script, options.slots_per_host, limit);
  options.hosts = discovery.AwaitSlots(options.elastic->min_ranks, options.elastic->timeout);
  options.hosts_origin = "--host-discovery-script";
  options.ranks = std::min(options.ranks, SlotsOf(options.hosts));
}

std::vector<Host> HostDiscovery::Result(int wait_status) {
  run_.reset();
  if (wait_status != 0) {
    throw InvalidArgument("the host discovery script '" + script_ + "' ended with " +
                          DescribeStatus(wait_status));
  }
  try {
    return ParseDiscoveredHosts(lines_, slots_);
  } catch (const InvalidArgument& error) {
    throw InvalidArgument("the host discovery script '" + script_ + "': " + error.what());
  }
}

}  // namespace weir::launcher
