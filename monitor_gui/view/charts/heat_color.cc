#include "monitor_gui/view/charts/heat_color.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

namespace weir::monitor {

QColor HeatColor(double value) {
  static constexpr std::array<QRgb, 9> kViridis = {0x440154, 0x482878, 0x3e4989, 0x31688e, 0x26828e,
                                                   0x1f9e89, 0x35b779, 0x6ece58, 0xfde725};
  const double at = std::clamp(value, 0.0, 1.0) * (kViridis.size() - 1);
  const auto below = std::min(static_cast<std::size_t>(at), kViridis.size() - 2);
  const double part = at - static_cast<double>(below);
  const auto mix = [&](int (*channel)(QRgb)) {
    return static_cast<int>(
        std::lround((1 - part) * channel(kViridis[below]) + part * channel(kViridis[below + 1])));
  };
  return {mix(qRed), mix(qGreen), mix(qBlue)};
}

}  // namespace weir::monitor
