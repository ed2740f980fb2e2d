#include <cstdio>
#include <string>
#include <vector>

#include "launcher/hosts/hosts.h"
#include "launcher/launcher.h"
#include "launcher/options/options.h"
#include "launcher/start/check_build.h"
#include "launcher/start/dry_run.h"
#include "launcher/start/host_discovery.h"
#include "launcher/start/rank_environment.h"
#include "launcher/start/remote_shell.h"
#include "launcher/start/starters.h"
#include "launcher/start/tether.h"
#include "launcher/supervisor/host_agent.h"
#include "launcher/supervisor/supervisor.h"
#include "weir/error.h"
#include "weir/version.h"

namespace {

using weir::launcher::Options;

/// Errors of weirrun and its user; a failing job has the code of its first failing rank.
constexpr int kUsageError = 2;

int Main(const std::vector<std::string>& arguments) {
  if (!arguments.empty() && arguments[0] == "--supervise-host") {
    return weir::launcher::RunHostAgent(arguments.size() > 1 ? arguments[1] : "");
  }
  if (arguments.size() > 2 && arguments[0] == "--supervise") {
    return weir::launcher::RunSupervisorOfHydra({arguments.begin() + 2, arguments.end()});
  }
  if (weir::launcher::IsTetheredCall(arguments)) return weir::launcher::RunTethered(arguments);
  if (weir::launcher::IsRemoteShellCall(arguments)) {
    return weir::launcher::RunRemoteShell(arguments);
  }
  Options options = weir::launcher::ParseOptions(arguments);
  switch (options.action) {
    case Options::Action::kHelp:
      std::fputs(options.help.c_str(), stdout);
      return 0;
    case Options::Action::kVersion:
      std::puts(weir::Version());
      return 0;
    case Options::Action::kCheckBuild:
      std::fputs(weir::launcher::CheckBuild().c_str(), stdout);
      return 0;
    case Options::Action::kRun:
      break;
  }
  if (!options.hosts_origin.empty()) {
    std::fprintf(stderr, "weirrun: hosts from %s: %s, for %d ranks\n", options.hosts_origin.c_str(),
                 weir::launcher::HostsText(options.hosts).c_str(), options.ranks);
  }
  weir::launcher::FindFirstHosts(options);
  const weir::Settings settings = weir::launcher::PrepareEnvironment(options);
  for (const std::string& notice : options.notices) {
    std::fprintf(stderr, "weirrun: note: %s\n", notice.c_str());
  }
  if (options.dry_run) {
    std::fputs(weir::launcher::DryRun(weir::launcher::PlanStarters(options, settings, {}), options)
                   .c_str(),
               stdout);
    return 0;
  }
  return weir::launcher::Launcher(options, settings).Run();
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return Main({argv + 1, argv + argc});
  } catch (const weir::Error& error) {
    std::fprintf(stderr, "weirrun: %s\n", error.what());
    return kUsageError;
  }
}
