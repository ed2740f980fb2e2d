#include "monitor_gui/window/appearance.h"

#include <QApplication>
#include <QSettings>

#include "monitor_gui/view/style/theme.h"

namespace weir::monitor {
namespace {

constexpr const char* kDarkKey = "appearance/dark";

void Apply(bool dark) { QApplication::setPalette(dark ? DarkPalette() : LightPalette()); }

}  // namespace

bool IsDark() { return QSettings().value(kDarkKey, false).toBool(); }

void SetDark(bool dark) {
  QSettings().setValue(kDarkKey, dark);
  Apply(dark);
}

void InitialiseAppearance() {
  QApplication::setStyle("Fusion");  // Looks the same everywhere, and uses palettes.
  Apply(IsDark());
}

}  // namespace weir::monitor
