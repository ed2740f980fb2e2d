#pragma once

#include <sstream>
#include <string>

namespace weir {

/// Sums a metric's series whose labels contain `label`.
inline double Sum(const std::string& scrape, const std::string& name,
                  const std::string& label = "") {
  double sum = 0.0;
  std::istringstream lines(scrape);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t end = line.find_first_of("{ ");
    if (line.substr(0, end) != name || line.find(label) == std::string::npos) continue;
    sum += std::stod(line.substr(line.rfind(' ')));
  }
  return sum;
}

}  // namespace weir
