#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "weir/settings.h"

namespace weir {

/// A file of plans for a group, as a job would have written it.
class WrittenPlans {
 public:
  /// `other`: apart from another one that is there at the same time.
  explicit WrittenPlans(const std::string& json, const std::string& other = "")
      : path_(testing::TempDir() + "plans-" + std::to_string(getpid()) + other + ".json") {
    std::ofstream(path_) << json;
  }
  ~WrittenPlans() { std::filesystem::remove(path_); }
  /// Settings with it, and with small buckets.
  Settings settings() const {
    Settings settings;
    settings.plan_filename = path_;
    settings.fusion_threshold_bytes = std::size_t{12} << 10;
    return settings;
  }

 private:
  const std::string path_;
};

}  // namespace weir
