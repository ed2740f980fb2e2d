#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <optional>

#include "benchmarks/report.h"

namespace weir::bench {

/// The body of a benchmark's main function. Adds --json to the options of `app`, parses them, calls
/// `measure`, and shows its report; some ranks have none. Writes an exception of `measure` to
/// stderr. Returns the exit code.
int Main(CLI::App& app, int argc, char** argv,
         const std::function<std::optional<Report>()>& measure);

}  // namespace weir::bench
