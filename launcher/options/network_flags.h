#pragma once

#include <CLI/App.hpp>
#include <string>
#include <vector>

#include "launcher/options/options.h"

/// The options that say what the ranks talk over: --transport in its other forms, --tcp and
/// --network-interfaces.
namespace weir::launcher {

/// Filled by CLI11.
struct NetworkFlags {
  std::string interfaces;
  bool tcp = false;
};

/// Declares the options. `flags` must live as long as `app`.
void AddNetworkFlags(CLI::App& app, NetworkFlags& flags);

/// Returns all options that choose a transport; one of them may be given.
std::vector<std::string> TransportForms();

/// Turns what was given into interfaces and variables.
void TakeNetworkFlags(const CLI::App& app, const NetworkFlags& flags, Options& options);

}  // namespace weir::launcher
