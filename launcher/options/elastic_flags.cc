#include "launcher/options/elastic_flags.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <string_view>
#include <utility>

#include "launcher/options/option_number.h"
#include "weir/error.h"

namespace weir::launcher {
namespace {

std::chrono::milliseconds SecondsOf(const std::string& option, const std::string& text) {
  const double seconds = OptionNumber(option, text, 0.0, 1e6, "seconds, 0 to 1000000");
  return std::chrono::milliseconds(std::llround(seconds * 1000));
}

HostPool::Cooldown CooldownOf(const std::vector<std::string>& range) {
  const std::string option = "--blacklist-cooldown-range";
  const HostPool::Cooldown cooldown{.least = SecondsOf(option, range.at(0)),
                                    .most = SecondsOf(option, range.at(1))};
  if (cooldown.least > cooldown.most) {
    throw InvalidArgument(option + " is " + range[0] + " and " + range[1] +
                          "; give the lesser number of seconds first");
  }
  return cooldown;
}

}  // namespace

void AddElasticFlags(CLI::App& app, ElasticFlags& flags) {
  app.add_option("--min-np,--min-num-proc", flags.min_ranks,
                 "Go on without ranks that are lost, as long as so many are left.");
  app.add_option("--max-np,--max-num-proc", flags.max_ranks,
                 "Grow to so many ranks, as hosts come. Default: -np.");
  app.add_option("--host-discovery-script", flags.script,
                 "A program that prints the hosts, a line \"host:slots\" each; run every second.");
  app.add_option("--slots-per-host", flags.slots,
                 "Slots of a host that the script names without. Default: 1.");
  app.add_option("--elastic-timeout", flags.timeout,
                 "Seconds that ranks may take to come back once one is lost. Default: 600.");
  app.add_option("--reset-limit", flags.reset_limit,
                 "How often the job may go on so. Default: without limit.");
  app.add_option("--blacklist-cooldown-range", flags.cooldown,
                 "Seconds, at least and at most, after which a slot whose rank was lost is used "
                 "again. Default: never.")
      ->expected(2);
}

void TakeElasticFlags(const ElasticFlags& flags, Options& options) {
  const bool elastic = !flags.min_ranks.empty() || !flags.script.empty();
  for (const auto& [flag, given] :
       {std::pair("--max-np", !flags.max_ranks.empty()),
        std::pair("--elastic-timeout", !flags.timeout.empty()),
        std::pair("--reset-limit", !flags.reset_limit.empty()),
        std::pair("--blacklist-cooldown-range", !flags.cooldown.empty())}) {
    if (given && !elastic) {
      throw InvalidArgument(std::string(flag) + " is for an elastic job; give --min-np, too");
    }
  }
  if (!flags.slots.empty() && flags.script.empty()) {
    throw InvalidArgument(
        "--slots-per-host is for the hosts of --host-discovery-script; give that, too");
  }
  if (!elastic) return;
  ElasticPolicy policy{.min_ranks = options.ranks, .max_ranks = options.ranks};
  if (!flags.min_ranks.empty()) {
    policy.min_ranks = OptionNumber("--min-np", flags.min_ranks, 1, options.ranks,
                                    "a number of ranks, 1 to that of -np");
  }
  if (!flags.max_ranks.empty()) {
    policy.max_ranks = OptionNumber("--max-np", flags.max_ranks, options.ranks, kMostRanks,
                                    "a number of ranks, that of -np to 16384");
  }
  if (!flags.timeout.empty()) policy.timeout = SecondsOf("--elastic-timeout", flags.timeout);
  if (!flags.reset_limit.empty()) {
    policy.reset_limit = OptionNumber("--reset-limit", flags.reset_limit, 0,
                                      std::numeric_limits<int>::max(), "a number, 0 or more");
  }
  if (!flags.cooldown.empty()) policy.cooldown = CooldownOf(flags.cooldown);
  policy.finds_hosts = !flags.script.empty();
  options.host_script = flags.script;
  if (!flags.slots.empty()) {
    options.slots_per_host = OptionNumber("--slots-per-host", flags.slots, 1, kMostRanks,
                                          "a number of slots, 1 to 16384");
  }
  if (options.servers > 0) {
    throw InvalidArgument(
        "--min-np and --servers: an elastic job has no summation servers yet; leave --servers out, "
        "and the ranks serve");
  }
  options.elastic = policy;
}

}  // namespace weir::launcher
