#pragma once

#include <string>

#include "metrics/run_info.h"
#include "weir/settings.h"

namespace weir {

/// What /run serves, as JSON: who this rank is, the hosts of the job if a launcher has told them,
/// and every setting with where it came from. A token is not shown.
std::string RunPage(const Settings& settings, const RunInfo& info);

}  // namespace weir
