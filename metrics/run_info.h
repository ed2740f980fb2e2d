#pragma once

#include <string>

namespace weir {

/// Who is being measured.
struct RunInfo {
  int rank = 0;
  int size = 1;
  int local_rank = 0;
  std::string host{};
};

}  // namespace weir
