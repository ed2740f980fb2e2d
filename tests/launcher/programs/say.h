#pragma once

#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>

/// Output of the programs that tests launch.
namespace weir {

inline void Say(const std::string& line) {
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);
}

/// Names the files and the System V segments, so that the test can check that none of them is left.
inline void SaySharedMemory() {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    const std::size_t begin = line.find("/dev/shm/");
    if (begin != std::string::npos && !line.ends_with(" (deleted)")) {
      Say("shm " + line.substr(begin));
    }
    if (line.find("/SYSV") != std::string::npos) {
      std::istringstream words(line);
      std::string addresses, rights, offset, device,
          segment;  // A segment's id stands as its inode.
      words >> addresses >> rights >> offset >> device >> segment;
      Say("shm segment " + segment);
    }
  }
}

}  // namespace weir
