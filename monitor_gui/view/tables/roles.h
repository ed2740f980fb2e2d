#pragma once

#include <Qt>

namespace weir::monitor {

/// Role of a table model's data(): the number behind the text, in the column's unit. For sorting.
inline constexpr int kValueRole = Qt::UserRole;
/// Role of headerData(): that unit, or nothing.
inline constexpr int kUnitRole = Qt::UserRole + 1;

}  // namespace weir::monitor
