#pragma once

#include <QString>
#include <QWidget>

#include "monitor_gui/export/csv.h"
#include "monitor_gui/run/run.h"

namespace weir::monitor {

/// Files of what a window shows. Each replaces what was there, or leaves it as it was and throws
/// std::runtime_error: which file, and why.
void ExportPng(QWidget& window, const QString& path);
void ExportCsv(const Table& table, const QString& path);
/// As WriteTrace has it.
void ExportTrace(const Run& run, const QString& path);

}  // namespace weir::monitor
