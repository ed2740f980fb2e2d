#pragma once

#include <QByteArray>
#include <QString>

#include "monitor_gui/window/main_window.h"

namespace weir::monitor {

/// Makes a run of two ranks and 40 steps of 100 ms, with three layers, in one log.
QByteArray MadeRun();
/// Writes a file, or fails the test.
void WriteFile(const QString& path, const QByteArray& bytes);
/// Waits until a window has read such a run, and refreshes it.
void ShowLoaded(MainWindow& window);
/// Returns the strip's tile of this name; the test ends when there is none.
Tile& TileOf(MainWindow& window, const QString& name);
/// Counts the different colours that a widget shows.
qsizetype Colors(QWidget& widget);
/// Sets up settings for the test alone, and the usual appearance.
void PrepareWindows(const QString& name);

}  // namespace weir::monitor
