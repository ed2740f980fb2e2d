#include "launcher/options/options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>
#include <set>
#include <sstream>

#include "common/supervision/supervision.h"
#include "common/text/nearest.h"
#include "common/text/parse_number.h"
#include "launcher/hosts/allocation.h"
#include "launcher/options/config_file.h"
#include "launcher/options/elastic_flags.h"
#include "launcher/options/horovod_flags.h"
#include "launcher/options/network_flags.h"
#include "launcher/options/option_number.h"
#include "launcher/options/setting_flags.h"
#include "launcher/options/taken_value.h"
#include "launcher/text/words.h"
#include "weir/error.h"
#include "weir/settings.h"

namespace weir::launcher {
namespace {

constexpr char kTimestamps[] = "--log-with-timestamp";
/// Horovod's older spellings of it.
constexpr std::array<std::pair<const char*, const char*>, 2> kOldTimestamps = {
    {{"--log-hide-timestamp", "false"}, {"--no-log-hide-timestamp", "true"}}};

/// Filled by CLI11; ParseOptions turns it into Options.
struct Raw {
  std::optional<std::string> hosts, hostfile, config_file, summary;  // An empty one is a mistake.
  std::string output_folder, mpi_args, binding_args, ssh_identity;
  std::string ranks, servers, ssh_port;
  std::string grace_seconds = "3";
  bool no_prefix = false, check_build = false, version = false, help = false;
  NetworkFlags network;
  ElasticFlags elastic;
  std::map<std::string, std::string> values;       // By SettingFlag::flag.
  std::map<std::string, std::string> environment;  // For options that are not settings.
};

/// Rewrites Horovod's options of several letters after one dash, which CLI11 does not know.
std::string Normalized(const std::string& word) {
  if (word == "-np") return "--num-proc";
  if (word == "-hostfile") return "--hostfile";
  if (word == "-cb") return "--check-build";
  if (word == "-prefix-timestamp") return "--prefix-output-with-timestamp";
  return word;
}

void AddOptions(CLI::App& app, Options& options, Raw& raw) {
  app.set_help_flag();
  app.add_flag("-h,--help", raw.help, "Print this and exit.");
  app.add_flag("-v,--version", raw.version, "Print the version and exit.");
  app.add_flag("--check-build", raw.check_build, "Print what this build can do and exit (-cb).");
  app.add_flag("--verbose", options.verbose,
               "Say what is done, and pass on all that is said while ranks start.");
  app.add_flag("--dry-run", options.dry_run,
               "Print what would be run, the place of each rank and the variables; start nothing.");
  app.add_option("--num-proc", raw.ranks,
                 "Number of ranks to start (-np). Default: as many as Slurm or PBS gave.");
  app.add_option("--servers", raw.servers,
                 "Also start this many summation servers, on the slots after those of the ranks "
                 "(compression route=push_pull). Default: 0, the ranks serve.");
  app.add_option(
      "-H,--hosts", raw.hosts,
      "Hosts and their slots, as in a:2,b:4. Default: those of Slurm or PBS, else this one.");
  app.add_option("--hostfile", raw.hostfile, "A file of lines \"host slots=n\".");
  app.add_option("--config-file", raw.config_file, "Options in YAML; the command line wins.");
  app.add_option("--start-timeout", raw.values["--start-timeout"],
                 "Seconds that all ranks may take to start. Default: 30.");
  app.add_option("--grace-seconds", raw.grace_seconds,
                 "Seconds that survivors of a failure get before they are ended. Default: 3.");
  app.add_option("--output-filename", raw.output_folder,
                 "Also write <folder>/rank.<n>/stdout and stderr.");
  app.add_option("--summary-filename", raw.summary,
                 "Also write the summary of the job's steps to this file, as JSON.");
  app.add_flag("--prefix-output-with-timestamp", options.output.timestamps,
               "Begin lines with the time.");
  app.add_flag("--no-prefix", raw.no_prefix, "Do not begin lines with \"[rank] \".");
  AddNetworkFlags(app, raw.network);
  AddElasticFlags(app, raw.elastic);
  app.add_option("-p,--ssh-port", raw.ssh_port, "Port of ssh on the hosts.");
  app.add_option("-i,--ssh-identity-file", raw.ssh_identity, "Private key for ssh.");
  app.add_option("--mpi-args", raw.mpi_args, "More arguments for mpiexec, over MPI.");
  app.add_option("--binding-args", raw.binding_args,
                 "Arguments of mpiexec that bind ranks to cores, over MPI. Default: no binding.");
}

void AddSettingFlags(CLI::App& app, Raw& raw) {
  for (const SettingFlag& flag : SettingFlags()) {
    std::string& value = raw.values[flag.flag];
    const std::string help = "Sets " + flag.variable() + (flag.megabytes ? ", in MiB." : ".");
    if (flag.is_switch()) {
      app.add_flag_callback(
          flag.flag, [&value] { value = "true"; }, help);
      app.add_flag_callback(
          flag.off_flag, [&value] { value = "false"; }, help);
    } else {
      app.add_option(flag.flag, value, help);
    }
  }
  std::string& timestamps = raw.values[kTimestamps];
  for (const auto& [flag, value] : kOldTimestamps) {
    app.add_flag_callback(
           flag, [&timestamps, value = value] { timestamps = value; }, "Deprecated.")
        ->group("");
  }
  for (const AcceptedFlag& flag : AcceptedFlags()) {
    app.add_option(flag.flag, "Accepted, sets nothing.")->expected(flag.values)->group("");
  }
}

[[noreturn]] void ThrowUnknownOption(const CLI::App& app, const std::string& name) {
  std::vector<std::string> known = {"-np", "-hostfile", "-cb", "-prefix-timestamp"};
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& one : option->get_lnames()) known.push_back("--" + one);
    for (const std::string& one : option->get_snames()) known.push_back("-" + one);
  }
  const std::string meant = DidYouMean(name, known);
  throw InvalidArgument("unknown option '" + name + "'" +
                        (meant.empty() ? "; weirrun --help lists all." : meant) +
                        " Options of the program go after the program");
}

/// Returns the words that name the form of a switch for the opposite; "" where there is none.
std::string OppositeOf(const std::string& name) {
  for (const SettingFlag& flag : SettingFlags()) {
    if (!flag.is_switch()) continue;
    if (name == flag.flag) return "; '" + flag.off_flag + "' is the opposite";
    if (name == flag.off_flag) return "; '" + flag.flag + "' is the opposite";
  }
  return {};
}

/// Refuses an option that is given in more than one of its forms, or again: users expect the last
/// one to win, or the first.
void CheckForms(const CLI::App& app, const std::vector<std::string>& forms) {
  std::string first;
  for (const std::string& form : forms) {
    if (app.count(form) == 0) continue;
    if (app.count(form) > 1) {
      throw InvalidArgument("option '" + form + "' is given more than once; give it once");
    }
    if (!first.empty()) {
      throw InvalidArgument("'" + first + "' and '" + form +
                            "' say what to do about the same; give one of them");
    }
    first = form;
  }
}

void CheckSwitches(const CLI::App& app) {
  for (const SettingFlag& flag : SettingFlags()) {
    if (!flag.is_switch()) continue;
    std::vector<std::string> forms = {flag.flag, flag.off_flag};
    if (flag.flag == kTimestamps) {
      for (const auto& [form, unused] : kOldTimestamps) forms.emplace_back(form);
    }
    CheckForms(app, forms);
  }
  CheckForms(app, TransportForms());
}

/// Splits the arguments into ours, with CLI11's spelling, and the command.
std::vector<std::string> SplitOff(const CLI::App& app, const std::vector<std::string>& arguments,
                                  Options& options) {
  std::vector<std::string> own;
  std::string lack;  // Of the last option: it may have taken the program for its value.
  std::size_t i = 0;
  while (i < arguments.size() && arguments[i].starts_with('-') && arguments[i] != "--") {
    const std::string word = Normalized(arguments[i]);
    const bool is_short = !word.starts_with("--");
    const std::string name = is_short ? word.substr(0, 2) : word.substr(0, word.find('='));
    const CLI::Option* option = app.get_option_no_throw(name);
    const bool takes_value = option != nullptr && option->get_items_expected_max() > 0;
    if (option == nullptr || (is_short && !takes_value && word.size() > 2)) {
      if (!lack.empty()) throw InvalidArgument(lack);
      ThrowUnknownOption(app, is_short ? word : name);
    }
    if (!takes_value && !is_short && word.size() > name.size()) {
      throw InvalidArgument("option '" + name + "' takes no value; leave '" +
                            word.substr(name.size()) + "' out" + OppositeOf(name));
    }
    own.push_back(word);
    ++i;
    lack.clear();
    if (takes_value && word.size() == name.size() && i < arguments.size()) {
      const std::size_t first = i;
      // With "=", so that a value may begin with a dash; an empty one would then be none.
      if (is_short || arguments[i].empty()) {
        own.push_back(arguments[i++]);
      } else {
        own.back() += "=" + arguments[i++];
      }
      for (int more = option->get_items_expected_max(); more > 1 && i < arguments.size(); --more) {
        own.push_back(arguments[i++]);
      }
      lack = WhyNoValue(name, {arguments.begin() + static_cast<std::ptrdiff_t>(first),
                               arguments.begin() + static_cast<std::ptrdiff_t>(i)});
    }
  }
  if (i == arguments.size() && !lack.empty()) throw InvalidArgument(lack);
  if (i < arguments.size() && arguments[i] == "--") ++i;
  options.command.assign(arguments.begin() + static_cast<std::ptrdiff_t>(i), arguments.end());
  return own;
}

void ReadSettings(const Raw& raw, Options& options) {
  if (raw.config_file) {
    ConfigFile file = ReadConfigFile(*raw.config_file);
    options.environment = std::move(file.environment);
    options.origins = std::move(file.origins);
    options.notices.insert(options.notices.end(), file.notices.begin(), file.notices.end());
    options.verbose = options.verbose || file.verbose;
  }
  const SettingFlag start_timeout{"--start-timeout", "", "", "", "START_TIMEOUT"};
  const auto take = [&](const SettingFlag& flag) {
    const std::string& text = raw.values.at(flag.flag);
    if (text.empty()) return;
    options.environment[flag.variable()] = VariableValue(flag, flag.flag, text);
    options.origins[flag.variable()] =
        flag.is_switch() && text == "false" ? flag.off_flag : flag.flag;
  };
  for (const SettingFlag& flag : SettingFlags()) take(flag);
  take(start_timeout);
}

void ReadHosts(const Raw& raw, Options& options) {
  if (raw.hosts && raw.hostfile) {
    throw InvalidArgument("-H and --hostfile both name the hosts; give one of them");
  }
  if (!raw.elastic.script.empty() && (raw.hosts || raw.hostfile)) {
    throw InvalidArgument(
        "--host-discovery-script names the hosts, and so does -H or --hostfile; give one of them");
  }
  std::optional<Allocation> allocation;
  if (!raw.hosts && !raw.hostfile) allocation = FindAllocation();
  if (raw.ranks.empty() && !allocation) {
    throw InvalidArgument("give the number of ranks, 1 or more, with -np");
  }
  if (!raw.servers.empty()) {
    options.servers =
        OptionNumber("--servers", raw.servers, 0, kMostRanks, "the number of servers, 0 to 16384");
    if (options.servers > 0) {
      options.environment["WEIR_SERVERS"] = std::to_string(options.servers);
      options.origins["WEIR_SERVERS"] = "--servers";
    }
  }
  if (!raw.ranks.empty()) {
    options.ranks =
        OptionNumber("-np", raw.ranks, 1, kMostRanks, "the number of ranks, 1 to 16384");
  } else if (allocation->ranks <= options.servers) {
    throw InvalidArgument("--servers " + std::to_string(options.servers) +
                          " leaves no rank of the " + std::to_string(allocation->ranks) + " that " +
                          allocation->origin + " makes; give fewer servers, or -np");
  } else if (allocation->ranks <= kMostRanks) {
    options.ranks = allocation->ranks - options.servers;
  } else {
    throw InvalidArgument(allocation->origin + " makes " + std::to_string(allocation->ranks) +
                          " ranks; give their number, 1 to 16384, with -np");
  }
  if (raw.hostfile) {
    options.hosts = ReadHostFile(*raw.hostfile);
  } else if (raw.hosts) {
    options.hosts = ParseHosts(*raw.hosts);
  } else if (allocation) {
    options.hosts = allocation->hosts;
    options.hosts_origin = allocation->origin;
  } else {
    options.hosts = {{.name = "localhost", .slots = options.processes()}};
  }
  PlaceProcesses(options.hosts, options.ranks, options.servers);
}

void ReadStart(const Raw& raw, Options& options) {
  std::string ssh = "-o PasswordAuthentication=no";
  if (!raw.ssh_port.empty()) {
    const int port = OptionNumber("--ssh-port", raw.ssh_port, 1, 65535, "a port, 1 to 65535");
    ssh += " -p " + std::to_string(port);
  }
  if (!raw.ssh_identity.empty()) ssh += " -i " + raw.ssh_identity;
  if (!raw.ssh_port.empty() || !raw.ssh_identity.empty()) {
    options.environment["HYDRA_LAUNCHER_EXTRA_ARGS"] = ssh;
  }
  options.mpiexec_arguments = Words(raw.binding_args, ' ');
  for (std::string& word : Words(raw.mpi_args, ' ')) {
    options.mpiexec_arguments.push_back(std::move(word));
  }
}

}  // namespace

Options ParseOptions(const std::vector<std::string>& arguments) {
  Options options;
  Raw raw;
  CLI::App app("Starts the ranks of a training job, watches over them, and ends them together.",
               "weirrun");
  AddOptions(app, options, raw);
  AddSettingFlags(app, raw);
  std::vector<std::string> own = SplitOff(app, arguments, options);
  std::ranges::reverse(own);  // CLI11's convention for a vector.
  try {
    app.parse(own);
  } catch (const CLI::ArgumentMismatch& error) {
    const std::string text = error.what();
    const std::string option = text.substr(0, text.find(':'));
    const bool none = text.ends_with("missing");
    throw InvalidArgument("option '" + option + (option == "--num-proc" ? "' (-np)" : "'") +
                          (none ? " needs a value" : " is given more than once; give it once"));
  } catch (const CLI::ParseError& error) {
    throw InvalidArgument(error.what());
  }
  using Action = Options::Action;
  if (raw.help || raw.version || raw.check_build) {
    options.action = raw.help      ? Action::kHelp
                     : raw.version ? Action::kVersion
                                   : Action::kCheckBuild;
    if (raw.help) {
      options.help = "Usage: weirrun -np N [-H host:slots,...] [options] program [arguments]\n" +
                     app.help("", CLI::AppFormatMode::Sub);
    }
    return options;
  }
  if (options.command.empty()) {
    throw InvalidArgument("nothing to run; give the program after the options");
  }
  CheckSwitches(app);
  for (const AcceptedFlag& flag : AcceptedFlags()) {
    if (app.count(flag.flag) != 0 && !flag.says.empty()) {
      options.notices.push_back(flag.flag + " has no effect: " + flag.says);
    }
  }
  for (const SettingFlag& flag : SettingFlags()) {
    if (app.count(flag.flag) == 0 || !raw.values.at(flag.flag).empty()) continue;
    throw InvalidArgument("option '" + flag.flag + "' needs a value");
  }
  // A job around this one has its own, which do not concern this one.
  const char* const servers = std::getenv("WEIR_SERVERS");
  const bool asks = servers != nullptr && *servers != '\0' && servers != std::string_view("0");
  if (asks && raw.servers.empty() && std::getenv(supervision::kOriginsVariable) == nullptr) {
    options.notices.push_back("WEIR_SERVERS has no effect: give --servers, which starts them");
  }
  ReadHosts(raw, options);
  ReadSettings(raw, options);
  TakeNetworkFlags(app, raw.network, options);
  TakeElasticFlags(raw.elastic, options);
  ReadStart(raw, options);
  const double grace =
      OptionNumber("--grace-seconds", raw.grace_seconds, 0.0, 86400.0, "seconds, 0 to 86400");
  options.policy.grace = std::chrono::milliseconds(std::llround(grace * 1000));
  options.output.prefix = !raw.no_prefix;
  options.output.folder = raw.output_folder;
  if (raw.summary) {
    if (raw.summary->empty()) throw InvalidArgument("--summary-filename is empty; give a file");
    options.summary_filename = *raw.summary;
  }
  return options;
}

}  // namespace weir::launcher
