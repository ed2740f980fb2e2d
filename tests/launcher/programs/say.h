#pragma once

#include <cstdio>
#include <fstream>
#include <string>

/// Output of the programs that tests launch.
namespace weir {

inline void Say(const std::string& line) {
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);
}

/// Names the files, so that the test can check that none of them is left.
inline void SaySharedFiles() {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    const std::size_t begin = line.find("/dev/shm/");
    if (begin != std::string::npos && !line.ends_with(" (deleted)")) {
      Say("shm " + line.substr(begin));
    }
  }
}

}  // namespace weir
