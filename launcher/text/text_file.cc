#include "launcher/text/text_file.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "weir/error.h"

namespace weir::launcher {

std::string ReadTextFile(const std::string& option, const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    throw InvalidArgument(option + ": '" + path + "' is a folder; give a file");
  }
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (file && file.peek() != std::ifstream::traits_type::eof()) text << file.rdbuf();
  if (!file.is_open() || file.bad() || text.bad()) {
    const std::string why = errno == 0 ? "" : std::string(": ") + std::strerror(errno);
    throw InvalidArgument(option + ": cannot read '" + path + "'" + why);
  }
  std::string result = std::move(text).str();
  // A NUL would end every message that quotes it.
  if (const std::size_t nul = result.find('\0'); nul != std::string::npos) {
    const auto end = result.begin() + static_cast<std::ptrdiff_t>(nul);
    throw InvalidArgument(path + ":" + std::to_string(std::count(result.begin(), end, '\n') + 1) +
                          ": holds a NUL byte; give a text file");
  }
  return result;
}

}  // namespace weir::launcher
