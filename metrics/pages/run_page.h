#pragma once

#include <string>

#include "metrics/records/run_info.h"
#include "weir/settings.h"

namespace weir {

/// The page /run, as JSON: this rank, the hosts of the job if a launcher has told them, and every
/// setting with its source. A token is not shown.
std::string RunPage(const Settings& settings, const RunInfo& info);

}  // namespace weir
