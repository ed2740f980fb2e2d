#pragma once

#include <string>
#include <vector>

#include "metrics/pages/targets_page.h"
#include "metrics/records/run_info.h"

namespace weir {

/// The page at /: a small HTML page for people with a browser. It says what runs here and links the
/// other pages, and those of the other ranks.
std::string HomePage(const RunInfo& info, const std::vector<Target>& targets);

}  // namespace weir
