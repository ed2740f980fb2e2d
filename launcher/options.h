#pragma once

#include <map>
#include <string>
#include <vector>

#include "launcher/hosts.h"
#include "launcher/job.h"
#include "launcher/output_writer.h"

namespace weir::launcher {

/// What the command line, the config file and the environment ask for.
struct Options {
  enum class Action { kRun, kHelp, kVersion, kCheckBuild };

  Action action = Action::kRun;
  std::string help{};  ///< The text for kHelp.
  int ranks = 0;
  int servers = 0;  ///< Summation servers, behind the ranks.
  std::vector<Host> hosts{};
  std::string hosts_origin{};  ///< The batch system's variable that gave them; else empty.
  std::vector<std::string> command{};
  std::map<std::string, std::string> environment{};  ///< To be set for the ranks.
  std::map<std::string, std::string> origins{};      ///< Option or line that set a variable of it.
  std::vector<std::string> interfaces{};             ///< Where supervisors reach weirrun.
  std::vector<std::string> mpiexec_arguments{};
  JobPolicy policy{};
  OutputOptions output{};
  std::string summary_filename{};  ///< Empty: none.
  bool verbose = false;
  bool dry_run = false;
  /// Ranks and servers.
  int processes() const { return ranks + servers; }
  std::vector<std::string> notices{};  ///< Options that are accepted, and what is done instead.
};

/// Parses weirrun's arguments, argv[0] left out. Without -H and --hostfile the hosts are those of
/// the batch system's allocation, if there is one. Options end at the first word that is none: the
/// program, whose arguments are its own. Throws InvalidArgument that names the option and, for an
/// unknown one, the nearest that exists.
Options ParseOptions(const std::vector<std::string>& arguments);

}  // namespace weir::launcher
