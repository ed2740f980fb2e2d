#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "launcher/hosts/hosts.h"
#include "launcher/job/elastic_job.h"
#include "launcher/job/job.h"
#include "launcher/output/output_writer.h"

namespace weir::launcher {

/// Requests of the command line, the config file and the environment.
struct Options {
  enum class Action { kRun, kHelp, kVersion, kCheckBuild };

  Action action = Action::kRun;
  std::string help{};  ///< The text for kHelp.
  int ranks = 0;
  int servers = 0;  ///< Summation servers, after the ranks.
  std::vector<Host> hosts{};
  std::string hosts_origin{};  ///< The batch system's variable that gave them; else empty.
  std::vector<std::string> command{};
  std::map<std::string, std::string> environment{};  ///< Variables to set for the ranks.
  std::map<std::string, std::string> origins{};      ///< The option or line that set each of them.
  std::vector<std::string> interfaces{};             ///< Supervisors reach weirrun on these.
  std::vector<std::string> mpiexec_arguments{};
  JobPolicy policy{};
  std::string host_script{};  ///< Prints the hosts that the job may use; empty: they are fixed.
  int slots_per_host = 1;     ///< Of the script's hosts, where it names no number.
  std::optional<ElasticPolicy> elastic{};  ///< Goes on without ranks that are lost.
  OutputOptions output{};
  std::string summary_filename{};  ///< Empty: none.
  bool verbose = false;
  bool dry_run = false;
  /// Returns the number of ranks and servers.
  int processes() const { return ranks + servers; }
  std::vector<std::string> notices{};  ///< Accepted without effect, and what is done instead.
};

/// Parses weirrun's arguments, argv[0] left out. Without -H and --hostfile the hosts are those of
/// the batch system's allocation, if there is one. Options end at the first word that is not one:
/// the program, whose arguments follow. Throws InvalidArgument that names the option and, for an
/// unknown one, the nearest that exists.
Options ParseOptions(const std::vector<std::string>& arguments);

}  // namespace weir::launcher
