#pragma once

#include <QColor>
#include <QPalette>

namespace weir::monitor {

/// The colours of the views, chosen from those of Okabe and Ito ("Color Universal Design", 2008),
/// which people with any colour vision can tell apart. One accent; the others identify stages.
struct Theme {
  QColor accent;
  QColor good;
  QColor warning;
  QColor bad;
  QColor backprop;
  QColor compress;
  QColor exchange;
  QColor merge;
  QColor grid;   ///< Lines behind the content.
  QColor faint;  ///< Texts beside the content.

  /// Returns the theme for a palette, dark or light.
  static Theme Of(const QPalette& palette);
};

/// Returns a palette for the Fusion style.
QPalette DarkPalette();
QPalette LightPalette();

}  // namespace weir::monitor
