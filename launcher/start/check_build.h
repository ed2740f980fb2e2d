#pragma once

#include <string>

namespace weir::launcher {

/// Output of `weirrun --check-build`, in horovodrun's form.
std::string CheckBuild();

}  // namespace weir::launcher
