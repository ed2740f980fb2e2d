#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <cerrno>
#include <filesystem>
#include <string>
#include <system_error>

namespace weir {

/// An empty folder, unique among tests that run beside this one; removed with its content.
class TemporaryFolder {
 public:
  TemporaryFolder() : path_(Made()) {}
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }

 private:
  static std::string Made() {
    std::string path = (std::filesystem::path(testing::TempDir()) / "weir-test-XXXXXX").string();
    if (!mkdtemp(path.data())) {
      throw std::system_error(errno, std::generic_category(), "mkdtemp " + path);
    }
    return path;
  }

  std::filesystem::path path_;
};

}  // namespace weir
