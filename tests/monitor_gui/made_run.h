#pragma once

#include <QByteArray>
#include <QString>

#include "monitor_gui/window/main_window.h"

namespace weir::monitor {

/// A run of two ranks and 40 steps of 100 ms, with three layers, in one log.
QByteArray MadeRun();
/// Writes it, or a test fails.
void WriteFile(const QString& path, const QByteArray& bytes);
/// Waits until a window has read such a run, and brings it up to date.
void ShowLoaded(MainWindow& window);
/// The tile of the strip that has this name; the test ends when there is none.
Tile& TileOf(MainWindow& window, const QString& name);
/// How many different colours a widget shows.
qsizetype Colors(QWidget& widget);
/// Settings of the test alone, and the appearance that programs have.
void PrepareWindows(const QString& name);

}  // namespace weir::monitor
