#pragma once

#include <Qt>

namespace weir::monitor {

/// Of a table model's data(): the number behind the text, in the column's unit. To sort by.
inline constexpr int kValueRole = Qt::UserRole;
/// Of its headerData(): that unit, or nothing.
inline constexpr int kUnitRole = Qt::UserRole + 1;

}  // namespace weir::monitor
