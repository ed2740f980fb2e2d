#pragma once

#include <optional>
#include <string>

#include "common/clock.h"

namespace weir {

/// Who is being measured.
struct RunInfo {
  int rank = 0;
  int size = 1;
  int local_rank = 0;
  std::string host{};
  std::string hosts{};                 ///< Of the whole job, "a:2,b:1"; empty: nobody has told.
  std::optional<ClockOffset> clock{};  ///< Nothing: it was not measured in time.
};

}  // namespace weir
