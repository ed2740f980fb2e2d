#pragma once

namespace weir::launcher {

/// Raises SIGTERM when the process in WEIR_LAUNCHER_PARENT ends, which has started weirrun
/// (weir.run). Call once signals are watched.
void EndWithParent();

}  // namespace weir::launcher
