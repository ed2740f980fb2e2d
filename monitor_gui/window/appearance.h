#pragma once

namespace weir::monitor {

/// Sets dark or light for all windows; remembered.
void SetDark(bool dark);
bool IsDark();
/// Sets the style, and dark or light as it was the last time.
void InitialiseAppearance();

}  // namespace weir::monitor
