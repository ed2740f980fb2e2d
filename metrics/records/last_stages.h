#pragma once

#include <cstdint>
#include <string>

#include "metrics/records/bucket_names.h"
#include "metrics/records/recorder.h"

namespace weir {

/// Writes the newest records as text, oldest first, for the log of a rank that fails: "3.2 ms ago
/// compress of 'model/w' in step 7, ...". "none" when there are none. Thread-safe.
std::string LastStages(const Recorder& recorder, const BucketNames& names, std::int64_t now_ns);

}  // namespace weir
