#pragma once

#include <cstdio>
#include <fstream>
#include <memory>
#include <string>

#include "tests/temporary_folder.h"

namespace weir {

/// Returns the complaints of `promtool check metrics` about a scrape: empty when all is well. A
/// missing promtool (scripts/setup --for test installs it) is a complaint, too.
inline std::string PromtoolComplaints(const std::string& scrape) {
  const TemporaryFolder folder;
  const std::string path = folder / "scrape";
  std::ofstream(path) << scrape;
  const std::string command = "promtool check metrics < '" + path + "' 2>&1";
  std::string output;
  {
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe(popen(command.c_str(), "r"), pclose);
    for (int c = std::fgetc(pipe.get()); c != EOF; c = std::fgetc(pipe.get())) {
      output += static_cast<char>(c);
    }
  }
  return output;
}

}  // namespace weir
