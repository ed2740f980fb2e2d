#pragma once

#include <string>

namespace weir::launcher {

/// What `weirrun --check-build` prints, in horovodrun's form.
std::string CheckBuild();

}  // namespace weir::launcher
