#include "monitor_gui/view/charts/round_step.h"

#include <cmath>
#include <initializer_list>

namespace weir::monitor {

double RoundStep(double value) {
  const double power = std::pow(10.0, std::floor(std::log10(value)));
  for (const double step : {5.0, 2.0}) {
    if (step * power <= value) return step * power;
  }
  return power;
}

}  // namespace weir::monitor
