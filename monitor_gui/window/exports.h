#pragma once

#include <QString>
#include <QWidget>

#include "monitor_gui/export/csv.h"
#include "monitor_gui/run/run.h"

namespace weir::monitor {

/// Writes a window's content to files. Each function replaces an existing file, or leaves it as it
/// was and throws std::runtime_error that names the file and the reason.
void ExportPng(QWidget& window, const QString& path);
void ExportCsv(const Table& table, const QString& path);
/// Writes the trace of WriteTrace.
void ExportTrace(const Run& run, const QString& path);

}  // namespace weir::monitor
