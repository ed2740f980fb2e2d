#pragma once

#include <QColor>
#include <QPalette>

namespace weir::monitor {

/// The colours of the views, chosen from those of Okabe and Ito ("Color Universal Design", 2008),
/// which people who see colours differently tell apart. One accent; the rest says what a stage is.
struct Theme {
  QColor accent;
  QColor good;
  QColor warning;
  QColor bad;
  QColor backprop;
  QColor compress;
  QColor exchange;
  QColor merge;
  QColor grid;   ///< Lines behind what is shown.
  QColor faint;  ///< Texts beside what is shown.

  /// For a palette, dark or light.
  static Theme Of(const QPalette& palette);
};

/// A palette for the Fusion style.
QPalette DarkPalette();
QPalette LightPalette();

/// Viridis (Smith and van der Walt, 2015), from 0 to 1: as light as it is large, in every eye.
QColor HeatColor(double value);

}  // namespace weir::monitor
