#pragma once

#include <string>

namespace weir::bench {

/// The machine that figures come from. Fields that the system does not tell are empty or 0.
struct Machine {
  std::string cpu;         ///< "AMD EPYC 9004".
  int cores = 0;           ///< Hardware threads this process may use.
  double memory_gib = 0;   ///< Physical memory.
  std::string kernel;      ///< "Linux 6.18.0".
  std::string huge_pages;  ///< Transparent huge pages: "always", "madvise" or "never".
};

Machine ThisMachine();

/// Returns one line for people.
std::string Describe(const Machine& machine);

}  // namespace weir::bench
