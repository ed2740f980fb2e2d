#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <optional>

#include "benchmarks/report.h"

namespace weir::bench {

/// The body of a benchmark's main function. Adds --json to the options of `app`, parses them, calls
/// `measure`, and shows what it returns: a report, or nothing on ranks that have nothing to show.
/// What `measure` throws is told on stderr. Returns the exit code.
int Main(CLI::App& app, int argc, char** argv,
         const std::function<std::optional<Report>()>& measure);

}  // namespace weir::bench
