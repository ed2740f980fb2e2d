#include "monitor_gui/view/style/theme.h"

#include <cmath>

namespace weir::monitor {
namespace {

QPalette Made(const QColor& window, const QColor& base, const QColor& text, const QColor& accent) {
  QPalette palette(text, window);
  palette.setColor(QPalette::Window, window);
  palette.setColor(QPalette::WindowText, text);
  palette.setColor(QPalette::Base, base);
  palette.setColor(QPalette::AlternateBase, window);
  palette.setColor(QPalette::Text, text);
  palette.setColor(QPalette::Button, window);
  palette.setColor(QPalette::ButtonText, text);
  palette.setColor(QPalette::ToolTipBase, base);
  palette.setColor(QPalette::ToolTipText, text);
  palette.setColor(QPalette::Highlight, accent);
  palette.setColor(QPalette::HighlightedText, Qt::white);
  // Lines of frames and tabs, the faintest first.
  const auto mixed = [&](double part) {
    const auto channel = [&](int from, int to) {
      return static_cast<int>(std::lround(from + part * (to - from)));
    };
    return QColor(channel(window.red(), text.red()), channel(window.green(), text.green()),
                  channel(window.blue(), text.blue()));
  };
  palette.setColor(QPalette::Light, mixed(0.06));
  palette.setColor(QPalette::Midlight, mixed(0.1));
  palette.setColor(QPalette::Mid, mixed(0.15));
  palette.setColor(QPalette::Dark, mixed(0.25));
  palette.setColor(QPalette::Shadow, mixed(0.35));
  QColor faint = text;
  faint.setAlphaF(0.65f);
  palette.setColor(QPalette::PlaceholderText, faint);
  for (const QPalette::ColorRole role :
       {QPalette::WindowText, QPalette::Text, QPalette::ButtonText})
    palette.setColor(QPalette::Disabled, role, faint);
  return palette;
}

}  // namespace

Theme Theme::Of(const QPalette& palette) {
  const bool dark = palette.color(QPalette::Window).lightnessF() < 0.5f;
  QColor grid = palette.color(QPalette::WindowText);
  grid.setAlphaF(0.14f);
  QColor faint = palette.color(QPalette::WindowText);
  faint.setAlphaF(0.65f);
  return {.accent = dark ? QColor(0x56, 0xb4, 0xe9) : QColor(0x00, 0x72, 0xb2),
          .good = dark ? QColor(0x2f, 0xc0, 0x94) : QColor(0x00, 0x9e, 0x73),
          .warning = QColor(0xe6, 0x9f, 0x00),
          .bad = QColor(0xd5, 0x5e, 0x00),
          .backprop = dark ? QColor(0x8a, 0x8f, 0x98) : QColor(0x9a, 0xa0, 0xa8),
          .compress = QColor(0xe6, 0x9f, 0x00),
          .exchange = dark ? QColor(0x56, 0xb4, 0xe9) : QColor(0x00, 0x72, 0xb2),
          .merge = dark ? QColor(0x2f, 0xc0, 0x94) : QColor(0x00, 0x9e, 0x73),
          .grid = grid,
          .faint = faint};
}

QPalette DarkPalette() { return Made(0x1e2127, 0x16181d, 0xe6e8eb, 0x0072b2); }
QPalette LightPalette() { return Made(0xf5f6f8, 0xffffff, 0x1b1f24, 0x0072b2); }

}  // namespace weir::monitor
