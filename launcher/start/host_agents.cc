#include "launcher/start/host_agents.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "common/summary/rank_places.h"
#include "common/supervision/tcp.h"
#include "launcher/hosts/hosts.h"
#include "launcher/start/reach.h"
#include "launcher/start/remote_shell.h"
#include "launcher/text/shell_words.h"

namespace weir::launcher {
namespace {

namespace fs = std::filesystem;

constexpr char kAdvice[] = "are the hosts right (-H, --hostfile)? --verbose shows the command";

/// The job's hosts in order, each with its processes.
std::vector<std::pair<std::string, std::vector<int>>> RanksByHost(const HostJob& job) {
  std::vector<std::pair<std::string, std::vector<int>>> hosts;
  for (std::size_t r = 0; r < job.hosts.size(); ++r) {
    if (job.hosts[r].empty()) continue;
    auto found =
        std::ranges::find(hosts, job.hosts[r], [](const auto& host) { return host.first; });
    if (found == hosts.end()) found = hosts.insert(hosts.end(), {job.hosts[r], {}});
    found->second.push_back(static_cast<int>(r));
  }
  return hosts;
}

std::vector<std::string> SshTo(const std::string& host, double start_seconds) {
  const std::string ssh = VariableOrEmpty("HYDRA_LAUNCHER_EXEC");
  std::vector<std::string> command = {
      ssh.empty() ? "ssh" : ssh, "-x", "-o",
      "BatchMode=yes",           "-o", "ConnectTimeout=" + ConnectSeconds(start_seconds)};
  std::istringstream more(VariableOrEmpty("HYDRA_LAUNCHER_EXTRA_ARGS"));
  for (std::string word; more >> word;) command.push_back(word);
  command.insert(command.end(), {host, ShellWords({OwnPath()}), "--supervise-host", host});
  return command;
}

}  // namespace

HostJob MakeHostJob(const Options& options) {
  HostJob job{.folder = fs::current_path(), .servers = options.servers, .command = options.command};
  if (options.servers > 0) {
    job.server = {(fs::path(OwnPath()).parent_path() / "weir-server").string()};
  }
  for (char** variable = environ; *variable != nullptr; ++variable) {
    job.environment.emplace_back(*variable);
  }
  return job;
}

std::vector<Starter::Spec> PlanHostAgents(const Options& options, const HostJob& job,
                                          double start_seconds) {
  const std::string input = EncodeHostJob(job);
  std::vector<Starter::Spec> starters;
  for (auto& [host, ranks] : RanksByHost(job)) {
    const bool here = supervision::IsLocalHost(host);
    starters.push_back(
        {.name = here ? "weirrun" : "ssh",
         .command = here ? std::vector<std::string>{OwnPath(), "--supervise-host", host}
                         : SshTo(host, start_seconds),
         .ranks = ranks,
         .host = host,
         .input = input,
         .takes_stdin = ranks.front() == 0,
         .advice = kAdvice});
  }
  if (!ReachesBySrun(options)) return starters;
  Starter::Spec all{.name = "srun",
                    .input = input,
                    .takes_stdin = starters.front().takes_stdin,
                    .advice = kAdvice};
  std::string names;
  for (const Starter::Spec& one : starters) {
    names += (names.empty() ? "" : ",") + one.host;
    all.ranks.insert(all.ranks.end(), one.ranks.begin(), one.ranks.end());
  }
  std::ranges::sort(all.ranks);
  const std::string count = std::to_string(starters.size());
  all.command = {"srun",
                 "--nodes=" + count,
                 "--ntasks=" + count,
                 "--ntasks-per-node=1",
                 "--nodelist=" + names,
                 OwnPath(),
                 "--supervise-host"};
  return {all};
}

}  // namespace weir::launcher
