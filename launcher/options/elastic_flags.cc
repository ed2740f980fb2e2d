#include "launcher/options/elastic_flags.h"

#include <chrono>
#include <cmath>
#include <limits>
#include <utility>

#include "launcher/options/option_number.h"
#include "weir/error.h"

namespace weir::launcher {

void AddElasticFlags(CLI::App& app, ElasticFlags& flags) {
  app.add_option("--min-np,--min-num-proc", flags.min_ranks,
                 "Go on without ranks that are lost, as long as so many are left.");
  app.add_option("--elastic-timeout", flags.timeout,
                 "Seconds that ranks may take to come back once one is lost. Default: 600.");
  app.add_option("--reset-limit", flags.reset_limit,
                 "How often the job may go on so. Default: without limit.");
}

void TakeElasticFlags(const ElasticFlags& flags, Options& options) {
  if (flags.min_ranks.empty()) {
    for (const auto& [flag, given] : {std::pair("--elastic-timeout", &flags.timeout),
                                      std::pair("--reset-limit", &flags.reset_limit)}) {
      if (given->empty()) continue;
      throw InvalidArgument(std::string(flag) + " is for an elastic job; give --min-np, too");
    }
    return;
  }
  ElasticPolicy policy;
  policy.min_ranks = OptionNumber("--min-np", flags.min_ranks, 1, options.ranks,
                                  "a number of ranks, 1 to that of -np");
  if (!flags.timeout.empty()) {
    const double seconds =
        OptionNumber("--elastic-timeout", flags.timeout, 0.0, 1e6, "seconds, 0 to 1000000");
    policy.timeout = std::chrono::milliseconds(std::llround(seconds * 1000));
  }
  if (!flags.reset_limit.empty()) {
    policy.reset_limit = OptionNumber("--reset-limit", flags.reset_limit, 0,
                                      std::numeric_limits<int>::max(), "a number, 0 or more");
  }
  if (options.servers > 0) {
    throw InvalidArgument(
        "--min-np and --servers: an elastic job has no summation servers yet; leave --servers out, "
        "and the ranks serve");
  }
  options.elastic = policy;
}

}  // namespace weir::launcher
