#pragma once

#include <functional>
#include <optional>

#include "benchmarks/command_line.h"
#include "benchmarks/report.h"

namespace weir::bench {

/// The body of a benchmark's main function. Adds --json to the options of `line`, parses them,
/// calls `measure`, and shows its report; some ranks have none. Writes an exception of `measure` to
/// stderr. Returns the exit code.
int Main(const CommandLine& line, int argc, char** argv,
         const std::function<std::optional<Report>()>& measure);

}  // namespace weir::bench
