#pragma once

#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

namespace weir {

/// What `promtool check metrics` has to say about a scrape: nothing when all is well. A promtool
/// that is missing (scripts/setup --for test installs it) is something to say, too.
inline std::string PromtoolComplaints(const std::string& scrape) {
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("weir_scrape." + std::to_string(getpid()));
  std::ofstream(path) << scrape;
  const std::string command = "promtool check metrics < '" + path.string() + "' 2>&1";
  std::string output;
  {
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe(popen(command.c_str(), "r"), pclose);
    for (int c = std::fgetc(pipe.get()); c != EOF; c = std::fgetc(pipe.get())) {
      output += static_cast<char>(c);
    }
  }
  std::filesystem::remove(path);
  return output;
}

}  // namespace weir
