#pragma once

#include <CLI/App.hpp>
#include <string>
#include <vector>

#include "launcher/options/options.h"

/// The options of a job whose ranks come and go.
namespace weir::launcher {

/// Filled by CLI11.
struct ElasticFlags {
  std::string min_ranks, max_ranks, script, slots, timeout, reset_limit;
  std::vector<std::string> cooldown;
};

/// Declares the options. `flags` must live as long as `app`.
void AddElasticFlags(CLI::App& app, ElasticFlags& flags);

/// Makes the job elastic if an option asks for it. Throws InvalidArgument for numbers that cannot
/// be, and for what an elastic job cannot have.
void TakeElasticFlags(const ElasticFlags& flags, Options& options);

}  // namespace weir::launcher
