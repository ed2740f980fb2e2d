#pragma once

namespace weir::monitor {

/// Dark or light, for all windows; remembered.
void SetDark(bool dark);
bool IsDark();
/// The style, and dark or light as it was the last time.
void InitialiseAppearance();

}  // namespace weir::monitor
